// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "answers.hpp"
#include "asking.hpp"
#include "calls.hpp"
#include "driver/one_or_each.hpp"
#include "redis_client/errors.hpp"
#include "upkeep.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace nebis::redis::records {
namespace {

class Session final : public StoreSession {
public:
    Session(std::unique_ptr<Line> line, std::shared_ptr<Shared> shared)
        : asking_(std::move(line)), shared_(std::move(shared)) {}

    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) override {
        write({}, {}, in, out, deadline);
    }

    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline deadline) override {
        write(in, out, {}, {}, deadline);
    }

    /// One pipeline: each script is atomic by itself, and rows know nothing of each other. A begin whose key is
    /// finished here too goes in a second one: Redis may refuse (NOSCRIPT) or send elsewhere (MOVED) a script of a
    /// pipeline and still run those behind it, and the finish counts as first.
    void write(std::span<const FinishRequest> finishes, std::span<Result<FinishOutcome>> finished_out,
               std::span<const BeginRequest> begins, std::span<Result<BeginOutcome>> begun_out,
               Deadline deadline) override {
        if (finishes.empty() && begins.empty()) return;
        const auto failed = guarded([&] {
            std::vector<Call> calls;
            std::vector<std::size_t> at_once;
            std::vector<std::size_t> after;
            calls.reserve(finishes.size() + begins.size());
            for (const auto& one : finishes) calls.push_back(finish_call(names(), one));
            for (std::size_t i = 0; i < begins.size(); ++i) {
                if (std::ranges::binary_search(finishes, begins[i].trace_id, {}, &FinishRequest::trace_id)) {
                    after.push_back(i);
                    continue;
                }
                at_once.push_back(i);
                calls.push_back(begin_call(names(), begins[i]));
            }
            auto replies = asking_.run(calls, deadline);
            for (std::size_t i = 0; i < finishes.size(); ++i)
                finished_out[i] = replies[i] ? finished(*replies[i], calls[i].arguments[0])
                                             : Result<FinishOutcome>(std::move(replies[i]).error());
            const auto take = [&](std::size_t i, const Call& call, Result<Reply>& reply) {
                begun_out[i] = reply ? begun(*reply, begins[i], call.arguments[0])
                                     : Result<BeginOutcome>(std::move(reply).error());
            };
            for (std::size_t i = 0; i < at_once.size(); ++i)
                take(at_once[i], calls[finishes.size() + i], replies[finishes.size() + i]);
            if (after.empty()) return;
            calls.clear();
            for (const std::size_t i : after) calls.push_back(begin_call(names(), begins[i]));
            replies = asking_.run(calls, deadline);
            for (std::size_t i = 0; i < after.size(); ++i) take(after[i], calls[i], replies[i]);
        });
        if (!failed) return;
        driver::fill(finished_out, *failed);
        driver::fill(begun_out, *failed);
    }

    void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) override {
        if (in.empty()) return;
        const auto failed = guarded([&] {
            std::vector<Call> calls;
            for (const auto& one : in) calls.push_back(renew_call(names(), one));
            auto replies = asking_.run(calls, deadline);
            for (std::size_t i = 0; i < in.size(); ++i)
                out[i] = replies[i] ? renewed(*replies[i], calls[i].arguments[0])
                                    : Result<RenewOutcome>(std::move(replies[i]).error());
        });
        if (failed) driver::fill(out, *failed);
    }

    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) override {
        if (in.empty()) return;
        const auto failed = guarded([&] {
            std::vector<Call> calls;
            std::vector<std::string> members;
            for (const auto& one : in) {
                members.push_back(member_of(one.trace_id));
                calls.push_back(find_call(names(), members.back()));
            }
            auto replies = asking_.run(calls, deadline);
            for (std::size_t i = 0; i < in.size(); ++i)
                out[i] = replies[i] ? found(*replies[i], members[i])
                                    : Result<FindOutcome>(of_a_read(std::move(replies[i]).error()));
        });
        if (failed) driver::fill(out, of_a_read(*failed));
    }

    Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline deadline) override {
        std::vector<Record> moved;
        const Chore chore{[&](std::size_t bucket) { return names().leases(bucket); },
                          [&](const std::string& member) { return lapse_call(names(), member, request); },
                          [&](const Answer& answer, std::string_view member) {
                              if (answer.code() != 1 || answer.size() != 3) return;
                              // A row that can't be read is moved like any other, but nobody may act on it.
                              if (auto record = read_record(answer.at(2), member, answer.now()))
                                  moved.push_back(*std::move(record));
                          }};
        auto done = go_round(asking_, chore, shared_->rounds.recover, request.limit, deadline);
        if (!done) return std::move(done).error();
        return moved;
    }

    Result<std::size_t> clean(const CleanRequest& request, Deadline deadline) override {
        const Chore chore{[&](std::size_t bucket) { return names().expiries(bucket); },
                          [&](const std::string& member) { return clean_call(names(), member); },
                          [](const Answer&, std::string_view) {}};
        return go_round(asking_, chore, shared_->rounds.clean, request.limit, deadline);
    }

    Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) override {
        auto reply = asking_.run_one(purge_call(names(), trace_id, version), deadline);
        if (!reply) return std::move(reply).error();
        const Answer answer(*reply);
        if (!answer.good()) return strange();
        if (answer.is_damaged()) return answer.damage(member_of(trace_id));
        return answer.code() == 1;
    }

    Result<StoreMillis> now(Deadline deadline) override {
        auto reply = asking_.run_one(now_call(names()), deadline);
        if (!reply) return of_a_read(std::move(reply).error());
        const Answer answer(*reply);
        if (!answer.good()) return of_a_read(strange());
        return answer.now();
    }

    Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept,
                                 Deadline deadline) override {
        auto reply = asking_.run_one(rule_call(names(), operation, digest, accept), deadline);
        if (!reply) return std::move(reply).error();
        if (reply->kind != Reply::Kind::text) return strange();
        return std::move(reply->text);
    }

private:
    const Names& names() const noexcept { return shared_->names; }

    Asking asking_;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace

std::unique_ptr<StoreSession> make_session(std::unique_ptr<Line> line, std::shared_ptr<Shared> shared) {
    return std::make_unique<Session>(std::move(line), std::move(shared));
}

}  // namespace nebis::redis::records
