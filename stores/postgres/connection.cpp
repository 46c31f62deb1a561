// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include "errors.hpp"
#include "opening.hpp"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace nebis::postgres {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// Longer than the other sessions' own short transactions, short enough to be "at once" for a caller.
constexpr std::int64_t lock_timeout = 200;

constexpr const char* pinned =
    "SET default_transaction_isolation = 'read committed'; SET default_transaction_deferrable = off; SET TimeZone = "
    "'UTC'; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; SET plan_cache_mode = "
    "force_generic_plan; SET idle_in_transaction_session_timeout = 10000; SET jit = off; SELECT "
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN "
    "'remote_apply' ELSE 'on' END, false)";

std::int64_t millis_until(Deadline deadline) {
    return std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
}

Error too_late() {
    return Error(ErrorKind::unavailable, "PostgreSQL was too slow for the caller's deadline")
        .with_code("postgres-slow");
}

/// The server ended the session: how far it came isn't known.
bool is_fatal(PGresult* result) {
    const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return !severity || std::string_view(severity) != "ERROR";
}

void ignore_notice(void*, const PGresult*) {}

}  // namespace

Error answered(PGresult* result) {
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* const text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return error_of(state ? state : "08000", text ? text : "");
}

bool Connection::wait(short events, Deadline deadline) const {
    pollfd one{PQsocket(connection_), events, 0};
    for (;;) {
        const auto left = std::clamp<std::int64_t>(millis_until(deadline), 0, 60'000);
        const int ready = ::poll(&one, 1, static_cast<int>(left));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return true;  // the next call on the socket tells
        if (steady_clock::now() >= deadline) return false;
    }
}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, Deadline deadline) {
    auto parameters = parameters_of(options);
    if (!parameters) return std::move(parameters).error();
    std::vector<const char*> names, values;
    for (const auto& [name, value] : *parameters) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    PGconn* const raw = PQconnectStartParams(names.data(), values.data(), 0);
    if (!raw) return Error(ErrorKind::unavailable, "out of memory").with_code("postgres-memory");
    PQsetNoticeReceiver(raw, ignore_notice, nullptr);
    std::unique_ptr<Connection> made(new Connection(raw, options.statement_timeout));
    const auto until = std::min(deadline, steady_clock::now() + options.connect_timeout);
    if (auto up = made->connect(until); !up) return std::move(up).error();
    if (PQserverVersion(raw) < 140000)
        return Error(ErrorKind::misconfigured, "PostgreSQL is too old", {}, "version 14 or newer is needed")
            .with_code("postgres-version");
    if (auto set = made->query(pinned, until); !set) return surely_not_applied(std::move(set).error());
    return made;
}

Result<void> Connection::connect(Deadline deadline) {
    if (PQstatus(connection_) == CONNECTION_BAD) return connect_error(PQerrorMessage(connection_));
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;) {
        if (next == PGRES_POLLING_FAILED) return connect_error(PQerrorMessage(connection_));
        if (!wait(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) return connect_error("timed out");
        next = PQconnectPoll(connection_);
    }
    if (PQsetnonblocking(connection_, 1) != 0) return connect_error(PQerrorMessage(connection_));
    return {};
}

Error Connection::broken() {
    spent_ = true;
    return lost(PQerrorMessage(connection_));
}

Result<void> Connection::flush(Deadline deadline) {
    for (;;) {
        const int left = PQflush(connection_);
        if (left == 0) return {};
        if (left < 0) return broken();
        if (!wait(POLLIN | POLLOUT, deadline)) {
            spent_ = true;
            return lost("timed out while sending");
        }
        // A server that answers while we still send must be read, or both wait.
        if (PQconsumeInput(connection_) != 1) return broken();
    }
}

Result<PGresult*> Connection::next(Deadline deadline) {
    while (PQisBusy(connection_) == 1) {
        if (!wait(POLLIN, deadline)) {
            spent_ = true;
            return lost("timed out while waiting for the answer");
        }
        if (PQconsumeInput(connection_) != 1) return broken();
    }
    return PQgetResult(connection_);
}

Result<Rows> Connection::query(const std::string& sql, Deadline deadline) {
    if (millis_until(deadline) <= 0) return too_late();
    if (PQsendQuery(connection_, sql.c_str()) != 1) return surely_not_applied(broken());
    if (auto sent = flush(deadline); !sent) return std::move(sent).error();
    std::optional<Rows> rows;
    std::optional<Error> fault;
    for (;;) {
        auto result = next(deadline);
        if (!result) return fault ? *std::move(fault) : std::move(result).error();
        if (!*result) break;
        Rows held(*result);
        const auto status = PQresultStatus(*result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && !fault) fault = answered(*result);
        rows = std::move(held);
    }
    if (fault) return *std::move(fault);
    if (!rows) return broken();
    return *std::move(rows);
}

Result<void> Connection::prepare(const std::string& table, Deadline deadline, Use use) {
    if (PQenterPipelineMode(connection_) != 1) return broken();
    const auto statements = statements_of(table, use);
    for (const auto& [name, sql] : statements)
        if (PQsendPrepare(connection_, name, sql.c_str(), 0, nullptr) != 1) return broken();
    if (PQpipelineSync(connection_) != 1) return broken();
    if (auto sent = flush(deadline); !sent) return surely_not_applied(std::move(sent).error());
    for (;;) {
        auto result = next(deadline);
        if (!result) return surely_not_applied(std::move(result).error());
        if (!*result) continue;
        const Rows held(*result);
        const auto status = PQresultStatus(*result);
        if (status == PGRES_PIPELINE_SYNC) return {};
        if (status == PGRES_COMMAND_OK) continue;
        spent_ = true;
        return answered(*result);
    }
}

Result<std::vector<Rows>> Connection::run(std::initializer_list<Step> steps, Deadline deadline) {
    const auto left = millis_until(deadline);
    if (left <= 0) return too_late();
    // The server gives up no later than we do. In powers of two, so that it is told seldom.
    const auto timeout = left >= statement_timeout_
                             ? statement_timeout_
                             : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(left)));
    if (timeout == server_timeout_) return exchange(steps, nullptr, deadline);
    Params limits;
    limits.add(timeout);
    limits.add(std::min(timeout, lock_timeout));
    auto rows = exchange(steps, &limits, deadline);
    if (rows || !spent_) server_timeout_ = timeout;
    return rows;
}

Result<std::vector<Rows>> Connection::go_on(std::initializer_list<Step> steps, Deadline deadline) {
    if (millis_until(deadline) <= 0) return too_late();
    return exchange(steps, nullptr, deadline);
}

Result<std::vector<Rows>> Connection::exchange(std::initializer_list<Step> steps, const Params* timeouts,
                                               Deadline deadline) {
    const auto send = [&](const Step& step) {
        static const Params none;
        std::vector<const char*> values;
        std::vector<int> lengths, formats;
        for (const auto& value : (step.params ? *step.params : none).values()) {
            values.push_back(value.data());
            lengths.push_back(static_cast<int>(value.size()));
            formats.push_back(1);
        }
        return PQsendQueryPrepared(connection_, name_of(step.sql), static_cast<int>(values.size()), values.data(),
                                   lengths.data(), formats.data(), 1) == 1;
    };
    int syncs = 1;
    if (timeouts) {
        if (!send({Sql::timeouts, timeouts}) || PQpipelineSync(connection_) != 1) return surely_not_applied(broken());
        ++syncs;
    }
    for (const Step& step : steps)
        if (!send(step)) return surely_not_applied(broken());  // no sync has gone: the server commits nothing
    if (PQpipelineSync(connection_) != 1) return surely_not_applied(broken());
    if (auto sent = flush(deadline); !sent) return std::move(sent).error();
    std::vector<Rows> rows;
    std::optional<Error> fault;
    while (syncs > 0) {
        auto result = next(deadline);
        if (!result) return fault ? *std::move(fault) : std::move(result).error();
        if (!*result) {
            if (PQstatus(connection_) == CONNECTION_BAD) return broken();
            continue;
        }
        Rows held(*result);
        switch (PQresultStatus(*result)) {
            case PGRES_PIPELINE_SYNC:
                // The timeouts' own result is not the caller's.
                if (--syncs == 1) rows.clear();
                break;
            case PGRES_TUPLES_OK:
            case PGRES_COMMAND_OK: rows.push_back(std::move(held)); break;
            case PGRES_PIPELINE_ABORTED: break;
            default:
                if (is_fatal(*result)) {
                    spent_ = true;
                    const Error said = answered(*result);
                    return lost(said.message() + ": " + said.detail());
                }
                if (!fault) fault = answered(*result);
        }
    }
    if (!fault) return rows;
    if (connection_is_spent(*fault)) spent_ = true;
    return *std::move(fault);
}

PGconn* Connection::lend() noexcept {
    if (PQexitPipelineMode(connection_) == 1 && PQsetnonblocking(connection_, 0) == 0) return connection_;
    spent_ = true;
    return nullptr;
}

Connection::Left Connection::take_back() noexcept {
    const auto state = PQtransactionStatus(connection_);
    // A pipeline or an answer that wasn't read to its end is something under way.
    if (state == PQTRANS_UNKNOWN || state == PQTRANS_ACTIVE || PQexitPipelineMode(connection_) != 1 ||
        PQsetnonblocking(connection_, 1) != 0 || PQenterPipelineMode(connection_) != 1) {
        spent_ = true;
        return Left::unusable;
    }
    if (state == PQTRANS_IDLE) return Left::ended;
    return state == PQTRANS_INERROR ? Left::aborted : Left::open;
}

bool Connection::usable() noexcept {
    if (spent_ || PQstatus(connection_) != CONNECTION_OK) return false;
    // What comes unasked is a parameter's change, a farewell, or the end of the stream.
    constexpr int most_reads = 8;
    for (int i = 0; i < most_reads; ++i) {
        pollfd one{PQsocket(connection_), POLLIN, 0};
        if (::poll(&one, 1, 0) <= 0) return true;
        if (PQconsumeInput(connection_) != 1) return false;
    }
    return false;
}

}  // namespace nebis::postgres
