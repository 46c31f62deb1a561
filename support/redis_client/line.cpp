// SPDX-License-Identifier: Apache-2.0
#include "line.hpp"

#include "errors.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace nebis::redis {
namespace {

/// One server takes all: a single one, or the master that Sentinels name.
class MasterLine final : public Line {
public:
    MasterLine(std::shared_ptr<Servers> servers, Confirm confirm) : servers_(std::move(servers)), confirm_(confirm) {}

    Result<void> prepare(Deadline deadline) override {
        if (connection_ && connection_->usable()) return {};
        connection_.reset();
        auto made = servers_->connect_master(deadline);
        if (!made) return std::move(made).error();
        connection_ = *std::move(made);
        return {};
    }

    void run(std::span<const Call> calls, std::span<Result<Reply>> out, Deadline deadline) override {
        if (auto ready = prepare(deadline); !ready) {
            for (auto& one : out) one = ready.error();
            return;
        }
        std::vector<std::size_t> rows(calls.size());
        std::iota(rows.begin(), rows.end(), std::size_t{0});
        rows = pass(calls, rows, out, deadline, false);
        // Redis forgot the scripts (restart, failover, SCRIPT FLUSH): these were surely not run.
        if (!rows.empty()) pass(calls, rows, out, deadline, true);
    }

private:
    /// Returns the rows whose script the server doesn't know.
    std::vector<std::size_t> pass(std::span<const Call> calls, const std::vector<std::size_t>& rows,
                                  std::span<Result<Reply>> out, Deadline deadline, bool with_text) {
        Commands commands;
        for (const std::size_t row : rows) append(commands, calls[row], with_text);
        append(commands, confirm_, deadline);
        std::optional<Error> lost;
        if (auto sent = connection_->send(commands, deadline); !sent) lost = std::move(sent).error();
        std::vector<std::size_t> unknown;
        bool elsewhere = false;
        for (const std::size_t row : rows) {
            if (lost) {
                out[row] = *lost;
                continue;
            }
            auto reply = connection_->receive(deadline);
            if (!reply) {
                lost = reply.error();
                out[row] = std::move(reply).error();
            } else if (reply->error_word() == "NOSCRIPT" && !with_text) {
                unknown.push_back(row);
            } else if (reply->is_error()) {
                elsewhere = elsewhere || wants_another_server(*reply);
                out[row] = error_of(*reply, "running a script");
            } else {
                out[row] = *std::move(reply);
            }
        }
        if (!lost && confirm_.replicas > 0) {
            auto answer = connection_->receive(deadline);
            note_confirmed(confirm_, answer, rows, out);
            if (!answer) lost = std::move(answer).error();
        }
        if (lost) {
            for (const std::size_t row : unknown)
                out[row] = Error(ErrorKind::unavailable, lost->message(), lost->detail(), lost->hint());
            unknown.clear();
        }
        if (lost || elsewhere) {
            servers_->doubt_master();
            if (unknown.empty()) connection_.reset();
        }
        return unknown;
    }

    const std::shared_ptr<Servers> servers_;
    const Confirm confirm_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace

void append(Commands& out, const Confirm& confirm, Deadline deadline) {
    if (confirm.replicas <= 0) return;
    using std::chrono::milliseconds;
    // The answer must be here in time; and 0 would mean for ever.
    const auto rest = std::chrono::floor<milliseconds>(deadline - std::chrono::steady_clock::now()) * 3 / 4;
    const auto timeout = std::max(milliseconds(1), std::min(confirm.timeout, rest));
    out.add({"WAIT", std::to_string(confirm.replicas), std::to_string(timeout.count())});
}

void note_confirmed(const Confirm& confirm, const Result<Reply>& answer, std::span<const std::size_t> rows,
                    std::span<Result<Reply>> out) {
    if (answer && answer->kind == Reply::Kind::integer && answer->integer >= confirm.replicas) return;
    for (const std::size_t row : rows)
        if (out[row]) out[row]->unconfirmed = true;
}

std::unique_ptr<Line> make_line(std::shared_ptr<Servers> servers, Confirm confirm) {
    if (servers->topology() == Topology::cluster) return make_cluster_line(std::move(servers), confirm);
    return std::make_unique<MasterLine>(std::move(servers), confirm);
}

}  // namespace nebis::redis
