// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include "errors.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace nebis::mysql {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr unsigned long oldest_mariadb = 100600, oldest_mysql = 80001;  // SKIP LOCKED
constexpr std::int64_t longest_poll = 60'000;
constexpr std::size_t packet_header = 8;  // what a packet holds beside the text, rounded up

std::int64_t millis_until(Deadline deadline) {
    return std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
}

}  // namespace

Connection::~Connection() {
    // A farewell to a server that doesn't read would wait for it.
    if (spent_) ::shutdown(static_cast<int>(mysql_get_socket(handle_)), SHUT_RDWR);
    mysql_close(handle_);
}

bool Connection::wait(int& status, Deadline deadline) {
    pollfd one{static_cast<int>(mysql_get_socket(handle_)), 0, 0};
    if (status & MYSQL_WAIT_READ) one.events |= POLLIN;
    if (status & MYSQL_WAIT_WRITE) one.events |= POLLOUT;
    if (status & MYSQL_WAIT_EXCEPT) one.events |= POLLPRI;
    for (;;) {
        const auto left = std::clamp<std::int64_t>(millis_until(deadline), 0, longest_poll);
        const int ready = ::poll(&one, 1, static_cast<int>(left));
        if (ready == 0 && steady_clock::now() >= deadline) return false;
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        int came = 0;
        if (one.revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) came |= MYSQL_WAIT_READ;
        if (one.revents & POLLOUT) came |= MYSQL_WAIT_WRITE;
        if (one.revents & POLLPRI) came |= MYSQL_WAIT_EXCEPT;
        // A call that waits to write learns of a broken connection by trying.
        if (one.revents & (POLLHUP | POLLERR | POLLNVAL)) came |= status & MYSQL_WAIT_WRITE;
        status = came;
        return true;
    }
}

template <class Go>
bool Connection::finish(int status, Deadline deadline, Go go) {
    bool in_time = true;
    while (status != 0) {
        if (in_time && !wait(status, deadline)) {
            in_time = false;
            spent_ = true;
            // The library must come to the end of what it does: on a dead socket it does at once.
            ::shutdown(static_cast<int>(mysql_get_socket(handle_)), SHUT_RDWR);
        }
        if (!in_time) status &= MYSQL_WAIT_READ | MYSQL_WAIT_WRITE | MYSQL_WAIT_EXCEPT;
        status = go(status);
    }
    return in_time;
}

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, Deadline deadline) {
    auto places = places_of(options);
    if (!places) return std::move(places).error();
    auto password = password_of(options);
    if (!password) return std::move(password).error();
    if (options.database.empty())
        return Error(ErrorKind::misconfigured, "MySQL needs `database`").with_code("mysql-database");
    const auto until = std::min(deadline, steady_clock::now() + options.connect_timeout);
    Error last = too_late();
    for (std::size_t i = 0; i < places->size(); ++i) {
        // One that swallows everything must leave time for the others.
        const auto now = steady_clock::now();
        const auto share = (until - now) / static_cast<std::int64_t>(places->size() - i);
        if (share <= share.zero()) break;
        auto made = open_one(options, (*places)[i], *password, now + share);
        if (made) return made;
        last = std::move(made).error();
    }
    return surely_not_applied(std::move(last));
}

Result<std::unique_ptr<Connection>> Connection::open_one(const Options& options, const Place& place,
                                                         const std::string& password, Deadline deadline) {
    static std::once_flag once;
    std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
    MYSQL* const raw = mysql_init(nullptr);
    if (!raw) return Error(ErrorKind::unavailable, "out of memory").with_code("mysql-memory");
    std::unique_ptr<Connection> made(new Connection(raw));
    made->spent_ = true;  // until all is well
    if (auto ready = prepare_handle(raw, options); !ready) return std::move(ready).error();
    const auto text_or_null = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
    constexpr unsigned long flags = CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS | CLIENT_REMEMBER_OPTIONS;
    MYSQL* opened = nullptr;
    const int status =
        mysql_real_connect_start(&opened, raw, text_or_null(place.host), options.username.c_str(), password.c_str(),
                                 options.database.c_str(), place.port, text_or_null(place.socket), flags);
    const bool in_time =
        made->finish(status, deadline, [&](int came) { return mysql_real_connect_cont(&opened, raw, came); });
    if (!in_time) return connect_error(0, "timed out");
    if (!opened) return connect_error(mysql_errno(raw), mysql_error(raw));
    if (options.tls.enabled && !mysql_get_ssl_cipher(raw)) return connect_error(2026, "the server speaks no TLS");
    const bool mariadb = mariadb_connection(raw) != 0;
    if (mysql_get_server_version(raw) < (mariadb ? oldest_mariadb : oldest_mysql))
        return Error(ErrorKind::misconfigured, "MySQL is too old", {}, "MariaDB 10.6 or MySQL 8.0 is needed")
            .with_code("mysql-version");
    made->spent_ = false;
    if (auto pinned = made->pin(options, deadline); !pinned) return std::move(pinned).error();
    return made;
}

Result<void> Connection::pin(const Options& options, Deadline deadline) {
    longest_ = 1 << 16;
    Script script;
    // Our own statements wait for no lock; where somebody else's make them, a second is the shortest bound (MariaDB
    // takes 0, but then fails commits after a SKIP LOCKED). Only MariaDB bounds statements that write and transactions
    // that lie idle; its comment hides both from MySQL.
    script
        .open(
            "SET autocommit=1,time_zone='+00:00',sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',innodb_lock_"
            "wait_timeout=1,lock_wait_timeout=1,group_concat_max_len=1048576,foreign_key_checks=1,unique_checks=1"
            "/*M!,idle_transaction_timeout=10,max_statement_time=")
        .number(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(options.statement_timeout).count()))
        .sql("*/")
        .close();
    script.statement("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    const auto limits = script.statement("SELECT @@max_allowed_packet,@@global.read_only");
    auto answers = run(script, deadline);
    if (!answers) return std::move(answers).error();
    const Answer& told = (*answers)[limits];
    longest_ = static_cast<std::size_t>(told.number(0, 0));
    if (options.addresses.size() > 1 && told.number(0, 1) != 0) return error_of(1290, {});
    return {};
}

Error Connection::fault() {
    const unsigned number = mysql_errno(handle_);
    if (is_clients(number) || number == 0 || is_farewell(number)) {
        spent_ = true;
        return lost(number == 0 ? "timed out while waiting for the answer" : mysql_error(handle_));
    }
    Error said = error_of(number, mysql_error(handle_));
    if (connection_is_spent(said)) spent_ = true;
    return said;
}

Result<Answers> Connection::run(const Script& script, Deadline deadline) {
    if (millis_until(deadline) <= 0) return too_late();
    const std::string_view sql = script.sql();
    if (sql.size() + packet_header > longest_) return too_big();
    Answers answers;
    answers.reserve(script.statements());
    const auto timed_out = [] { return lost("timed out while waiting for the answer"); };
    int failed = 0;
    int status = mysql_real_query_start(&failed, handle_, sql.data(), sql.size());
    if (!finish(status, deadline, [&](int came) { return mysql_real_query_cont(&failed, handle_, came); }))
        return timed_out();
    for (;;) {
        if (failed != 0) {
            Error error = fault();
            if (answers.size() < script.decisive()) return error;
            spent_ = true;
            return answers;
        }
        MYSQL_RES* rows = nullptr;
        status = mysql_store_result_start(&rows, handle_);
        const bool in_time =
            finish(status, deadline, [&](int came) { return mysql_store_result_cont(&rows, handle_, came); });
        if (!in_time) {
            mysql_free_result(rows);
            return timed_out();
        }
        if (rows)
            answers.emplace_back(rows);
        else if (mysql_field_count(handle_) == 0)
            answers.emplace_back(mysql_affected_rows(handle_));
        else
            return fault();
        if (!mysql_more_results(handle_)) break;
        status = mysql_next_result_start(&failed, handle_);
        if (!finish(status, deadline, [&](int came) { return mysql_next_result_cont(&failed, handle_, came); })) {
            if (answers.size() >= script.decisive()) return answers;
            return timed_out();
        }
    }
    return answers;
}

void Connection::tidy(Deadline deadline) {
    if (spent_) return;
    Script script;
    script.statement("ROLLBACK");
    script.statement("DO RELEASE_ALL_LOCKS()");
    if (!run(script, deadline)) spent_ = true;
}

bool Connection::usable() noexcept {
    if (spent_) return false;
    // Nothing comes unasked but a farewell or the end of the stream.
    pollfd one{static_cast<int>(mysql_get_socket(handle_)), POLLIN, 0};
    return ::poll(&one, 1, 0) == 0;
}

}  // namespace nebis::mysql
