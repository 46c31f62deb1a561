// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "identify/digest.hpp"
#include "runtime/snapshot.hpp"
#include "scripts.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace nebis::redis::records {
namespace {

/// Of a lease or retention: beyond it sums of times would leave what Lua counts exactly.
constexpr std::int64_t longest_span = 1'000'000'000'000'000;
/// A final row that clean-up didn't fetch goes by itself, a day after its retention.
constexpr std::int64_t grace = 86'400'000;
/// Buckets that one pipeline looks into, and rows that it takes from each.
constexpr std::size_t buckets_at_once = 32;
constexpr std::size_t page = 64;

Error strange() {
    return Error(ErrorKind::maybe_applied, "Redis answered a script with what it never returns", {},
                 "check that nothing between here and Redis rewrites replies")
        .with_code("redis-protocol");
}

/// A read changes nothing, so a lost reply doesn't leave anybody in doubt.
Error of_a_read(Error error) {
    if (error.kind() != ErrorKind::maybe_applied) return error;
    return Error(ErrorKind::unavailable, error.message(), error.detail(), error.hint()).with_code(error.code());
}

std::string span_of(std::int64_t millis) { return std::to_string(std::clamp<std::int64_t>(millis, 0, longest_span)); }
std::string bytes_of(const Owner& owner) { return std::string(identify::as_text(owner.bytes)); }
std::string bytes_of(const RequestHash& hash) {
    std::string out(1, static_cast<char>(hash.scheme));
    return out.append(identify::as_text(hash.digest));
}
std::string flag(bool on) { return on ? "1" : "0"; }
std::string number_of(RecordStatus status) { return std::to_string(static_cast<int>(status)); }

/// The shape every script answers in: a code, the clock, and more.
class Answer {
public:
    explicit Answer(const Reply& reply) : reply_(reply) {}
    bool good() const noexcept {
        return reply_.kind == Reply::Kind::array && reply_.elements.size() >= 2 && is_number(0) && is_number(1);
    }
    std::int64_t code() const noexcept { return number(0); }
    StoreMillis now() const noexcept { return number(1); }
    std::size_t size() const noexcept { return reply_.elements.size(); }
    bool is_number(std::size_t i) const noexcept {
        return i < size() && reply_.elements[i].kind == Reply::Kind::integer;
    }
    std::int64_t number(std::size_t i) const noexcept { return reply_.elements[i].integer; }
    const Reply& at(std::size_t i) const noexcept { return reply_.elements[i]; }
    bool is_damaged() const noexcept { return code() == 7 && size() == 3; }
    Error damage(std::string_view member) const { return damaged(member, at(2).text); }

private:
    const Reply& reply_;
};

Result<BeginOutcome> begun(const Reply& reply, const BeginRequest& request, std::string_view member) {
    using Kind = BeginOutcome::Kind;
    const Answer answer(reply);
    if (!answer.good()) return strange();
    if (answer.is_damaged()) return answer.damage(member);
    BeginOutcome out;
    out.now = answer.now();
    const auto versioned = [&](Kind kind) {
        out.kind = kind;
        out.version = static_cast<std::uint64_t>(answer.number(2));
        out.attempts = static_cast<std::uint32_t>(answer.number(3));
    };
    const bool has_version = answer.is_number(2) && answer.is_number(3);
    switch (answer.code()) {
        case 0:
            if (!has_version || !answer.is_number(4)) return strange();
            versioned(Kind::acquired);
            out.owner = request.owner;
            out.took_over = answer.number(4) == 1;
            return out;
        case 1:
            if (!has_version || !answer.is_number(5) || answer.at(4).text.size() != out.owner.bytes.size())
                return strange();
            versioned(Kind::in_progress);
            std::ranges::copy(answer.at(4).text, reinterpret_cast<char*>(out.owner.bytes.data()));
            out.remaining_millis = answer.number(5);
            return out;
        case 2:
            if (!has_version) return strange();
            versioned(Kind::mismatch);
            return out;
        case 3: out.kind = Kind::finished; break;
        case 4: out.kind = Kind::unknown; break;
        case 5: out.kind = Kind::other_scheme; break;
        case 6: out.kind = Kind::late; return out;
        default: return strange();
    }
    if (answer.size() != 3) return strange();
    auto record = read_record(answer.at(2), member, answer.now());
    if (!record) return std::move(record).error();
    out.version = record->version;
    out.attempts = record->attempts;
    out.record = *std::move(record);
    return out;
}

Result<FinishOutcome> finished(const Reply& reply, std::string_view member) {
    const Answer answer(reply);
    if (!answer.good()) return strange();
    if (answer.is_damaged()) return answer.damage(member);
    FinishOutcome out;
    out.now = answer.now();
    out.applied = answer.code() == 1;
    if (out.applied || answer.size() == 2) return out;
    auto record = read_record(answer.at(2), member, answer.now());
    if (!record) return std::move(record).error();
    out.current = *std::move(record);
    return out;
}

Result<RenewOutcome> renewed(const Reply& reply, std::string_view member) {
    const Answer answer(reply);
    if (!answer.good()) return strange();
    if (answer.is_damaged()) return answer.damage(member);
    RenewOutcome out;
    out.kind = answer.code() == 1 ? RenewOutcome::Kind::renewed : RenewOutcome::Kind::lost;
    out.now = answer.now();
    return out;
}

Result<FindOutcome> found(const Reply& reply, std::string_view member) {
    const Answer answer(reply);
    if (!answer.good()) return of_a_read(strange());
    if (answer.is_damaged()) return answer.damage(member);
    FindOutcome out;
    out.now = answer.now();
    if (answer.code() == 0) return out;
    if (answer.size() != 3) return of_a_read(strange());
    auto record = read_record(answer.at(2), member, answer.now());
    if (!record) return std::move(record).error();
    out.record = *std::move(record);
    return out;
}

class Session final : public StoreSession {
public:
    Session(std::unique_ptr<Line> line, std::shared_ptr<Shared> shared)
        : line_(std::move(line)), shared_(std::move(shared)) {}

    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) override {
        write({}, {}, in, out, deadline);
    }

    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline deadline) override {
        write(in, out, {}, {}, deadline);
    }

    /// One pipeline: each script is atomic by itself, and rows know nothing of each other. A begin whose key is finished
    /// here too goes in a second one: Redis may refuse (NOSCRIPT) or send elsewhere (MOVED) a script of a pipeline and
    /// still run those behind it, and the finish counts as first.
    void write(std::span<const FinishRequest> finishes, std::span<Result<FinishOutcome>> finished_out,
               std::span<const BeginRequest> begins, std::span<Result<BeginOutcome>> begun_out,
               Deadline deadline) override {
        if (finishes.empty() && begins.empty()) return;
        const auto failed = guarded([&] {
            std::vector<Call> calls;
            std::vector<std::size_t> at_once;
            std::vector<std::size_t> after;
            calls.reserve(finishes.size() + begins.size());
            for (const auto& one : finishes) calls.push_back(finish_call(one));
            for (std::size_t i = 0; i < begins.size(); ++i) {
                if (std::ranges::binary_search(finishes, begins[i].trace_id, {}, &FinishRequest::trace_id)) {
                    after.push_back(i);
                    continue;
                }
                at_once.push_back(i);
                calls.push_back(begin_call(begins[i]));
            }
            auto replies = run(calls, deadline);
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
            for (const std::size_t i : after) calls.push_back(begin_call(begins[i]));
            replies = run(calls, deadline);
            for (std::size_t i = 0; i < after.size(); ++i) take(after[i], calls[i], replies[i]);
        });
        if (!failed) return;
        for (auto& one : finished_out) one = *failed;
        for (auto& one : begun_out) one = *failed;
    }

    void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) override {
        if (in.empty()) return;
        const auto failed = guarded([&] {
            std::vector<Call> calls;
            for (const auto& one : in) {
                const std::string member = member_of(one.trace_id);
                calls.push_back({&Scripts::all().renew,
                                 {names().row(member), names().leases(bucket_of(member))},
                                 {member, std::string(one.trace_id), std::to_string(one.version), bytes_of(one.owner),
                                  span_of(one.lease_millis), flag(one.ask)}});
            }
            auto replies = run(calls, deadline);
            for (std::size_t i = 0; i < in.size(); ++i)
                out[i] = replies[i] ? renewed(*replies[i], calls[i].arguments[0])
                                    : Result<RenewOutcome>(std::move(replies[i]).error());
        });
        if (failed)
            for (auto& one : out) one = *failed;
    }

    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) override {
        if (in.empty()) return;
        const auto failed = guarded([&] {
            std::vector<Call> calls;
            std::vector<std::string> members;
            for (const auto& one : in) {
                members.push_back(member_of(one.trace_id));
                calls.push_back({&Scripts::all().find, {names().row(members.back())}, {}});
            }
            auto replies = run(calls, deadline);
            for (std::size_t i = 0; i < in.size(); ++i)
                out[i] = replies[i] ? found(*replies[i], members[i])
                                    : Result<FindOutcome>(of_a_read(std::move(replies[i]).error()));
        });
        if (failed)
            for (auto& one : out) one = of_a_read(*failed);
    }

    Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline deadline) override {
        std::vector<Record> moved;
        const auto lapse = [&](const std::string& member) {
            return Call{&Scripts::all().lapse,
                        {names().row(member), names().leases(bucket_of(member))},
                        {member, span_of(request.min_age_millis), std::string(request.own_instance)}};
        };
        const auto take = [&](const Answer& answer, std::string_view member) {
            if (answer.code() != 1 || answer.size() != 3) return;
            // A row that can't be read is moved like any other, but nobody may act on it.
            if (auto record = read_record(answer.at(2), member, answer.now())) moved.push_back(*std::move(record));
        };
        auto done = go_round(
            shared_->rounds.recover, request.limit, deadline,
            [&](std::size_t bucket) { return names().leases(bucket); }, lapse, take);
        if (!done) return std::move(done).error();
        return moved;
    }

    Result<std::size_t> clean(const CleanRequest& request, Deadline deadline) override {
        const auto drop = [&](const std::string& member) {
            return Call{&Scripts::all().clean, {names().row(member), names().expiries(bucket_of(member))}, {member}};
        };
        return go_round(
            shared_->rounds.clean, request.limit, deadline,
            [&](std::size_t bucket) { return names().expiries(bucket); }, drop, [](const Answer&, std::string_view) {});
    }

    Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) override {
        const std::string member = member_of(trace_id);
        const std::size_t bucket = bucket_of(member);
        auto reply = run_one({&Scripts::all().purge,
                              {names().row(member), names().leases(bucket), names().expiries(bucket)},
                              {member, std::to_string(version)}},
                             deadline);
        if (!reply) return std::move(reply).error();
        const Answer answer(*reply);
        if (!answer.good()) return strange();
        return answer.code() == 1;
    }

    Result<StoreMillis> now(Deadline deadline) override {
        auto reply = run_one({&Scripts::all().now, {names().floor(0)}, {}}, deadline);
        if (!reply) return of_a_read(std::move(reply).error());
        const Answer answer(*reply);
        if (!answer.good()) return of_a_read(strange());
        return answer.now();
    }

    Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept,
                                 Deadline deadline) override {
        auto reply =
            run_one({&Scripts::all().rule, {names().rule(operation)}, {std::string(digest), flag(accept)}}, deadline);
        if (!reply) return std::move(reply).error();
        if (reply->kind != Reply::Kind::text) return strange();
        return std::move(reply->text);
    }

private:
    const Names& names() const noexcept { return shared_->names; }

    /// What a step throws: no memory, or no thread for a look-up.
    template <class Step>
    static std::optional<Error> guarded(Step step) noexcept {
        try {
            step();
            return std::nullopt;
        } catch (const std::exception& thrown) {
            return Error(ErrorKind::maybe_applied, "no resources to talk to Redis", thrown.what());
        }
    }

    /// What too few replicas have may be forgotten by a failover: it can't be told as done, nor as found.
    static void believe(Result<Reply>& reply) {
        if (!reply || !reply->unconfirmed) return;
        reply = Error(ErrorKind::maybe_applied, "too few replicas of Redis have this record", {},
                      "bring the replicas back, or lower `wait-replicas`: a failover may then forget more")
                    .with_code("redis-unconfirmed");
    }

    std::vector<Result<Reply>> run(const std::vector<Call>& calls, Deadline deadline) {
        std::vector<Result<Reply>> replies(calls.size(), Error(ErrorKind::internal, "not set"));
        line_->run(calls, replies, deadline);
        for (auto& reply : replies) believe(reply);
        return replies;
    }
    Result<Reply> run_one(Call call, Deadline deadline) {
        Result<Reply> out = Error(ErrorKind::internal, "not set");
        const auto failed = guarded([&] { line_->run({&call, 1}, {&out, 1}, deadline); });
        if (failed) return *failed;
        believe(out);
        return out;
    }

    Call begin_call(const BeginRequest& one) const {
        const std::string member = member_of(one.trace_id);
        const std::size_t bucket = bucket_of(member);
        return {
            &Scripts::all().begin,
            {names().row(member), names().leases(bucket), names().expiries(bucket), names().floor(bucket)},
            {member, std::string(one.trace_id), std::string(one.operation), bytes_of(one.owner),
             bytes_of(one.request_hash), number_of(one.status), span_of(one.lease_millis),
             span_of(one.retention_millis), span_of(one.unknown_retention_millis),
             flag(one.take_over_lease) + flag(one.take_over_unknown) + flag(one.lapse), std::to_string(one.not_after),
             std::string(one.instance), std::string(one.request_snapshot), std::to_string(grace)}};
    }

    Call finish_call(const FinishRequest& one) const {
        const std::string member = member_of(one.trace_id);
        const std::size_t bucket = bucket_of(member);
        return {
            &Scripts::all().finish,
            {names().row(member), names().leases(bucket), names().expiries(bucket)},
            {member, std::string(one.trace_id), std::to_string(one.version), bytes_of(one.owner), number_of(one.status),
             flag(one.from_processing) + flag(one.from_unknown) + flag(one.from_marked), span_of(one.retention_millis),
             std::string(one.outcome_ref), one.new_owner ? bytes_of(*one.new_owner) : std::string(),
             std::to_string(grace), one.response ? runtime::encode_response(*one.response) : std::string()}};
    }

    /// Upkeep: each bucket once at most, from where the last call stopped, until `limit` rows were changed or the
    /// deadline is near. Returns how many were.
    Result<std::size_t> go_round(std::atomic<std::size_t>& next, std::size_t limit, Deadline deadline,
                                 const std::function<std::string(std::size_t)>& index,
                                 const std::function<Call(const std::string&)>& step,
                                 const std::function<void(const Answer&, std::string_view)>& take) {
        std::size_t changed = 0;
        std::optional<Error> fault;
        const auto failed = guarded([&] {
            const std::size_t first = next.load();
            for (std::size_t at = 0; at < bucket_count && changed < limit && !fault; at += buckets_at_once) {
                if (std::chrono::steady_clock::now() >= deadline) return;
                std::array<std::size_t, buckets_at_once> passed{};
                while (changed < limit && !fault) {
                    bool more = false;
                    changed += look(first + at, passed, limit - changed, deadline, index, step, take, more, fault);
                    if (!more) {
                        next = (first + at + buckets_at_once) % bucket_count;
                        break;
                    }
                    if (std::chrono::steady_clock::now() >= deadline) return;
                }
            }
        });
        if (failed) return *failed;
        // What was done before the fault is done, and reported; the next call meets the fault again.
        if (fault && changed == 0) return *std::move(fault);
        return changed;
    }

    /// One page of some buckets. `passed`: how many of each were looked at and are in their index still.
    std::size_t look(std::size_t first, std::array<std::size_t, buckets_at_once>& passed, std::size_t limit,
                     Deadline deadline, const std::function<std::string(std::size_t)>& index,
                     const std::function<Call(const std::string&)>& step,
                     const std::function<void(const Answer&, std::string_view)>& take, bool& more,
                     std::optional<Error>& fault) {
        const std::size_t per_bucket = std::min(page, limit);
        std::vector<Call> calls;
        for (std::size_t i = 0; i < buckets_at_once; ++i)
            calls.push_back({&Scripts::all().due,
                             {index((first + i) % bucket_count)},
                             {std::to_string(passed[i]), std::to_string(per_bucket)}});
        std::vector<Call> steps;
        std::vector<std::string> members;
        std::vector<std::size_t> places;
        auto pages = run(calls, deadline);
        for (std::size_t i = 0; i < pages.size(); ++i) {
            auto& due = pages[i];
            if (!due) {
                fault = of_a_read(std::move(due).error());
                continue;
            }
            more = more || due->elements.size() == per_bucket;
            for (auto& member : due->elements) {
                if (steps.size() == limit) {
                    more = true;
                    break;
                }
                if (member.text.size() != 64 ||
                    member.text.find_first_not_of("0123456789abcdef") != std::string::npos ||
                    bucket_of(member.text) != (first + i) % bucket_count) {
                    ++passed[i];  // somebody else's
                    continue;
                }
                places.push_back(i);
                steps.push_back(step(member.text));
                members.push_back(std::move(member.text));
            }
        }
        if (steps.empty()) return 0;
        std::size_t changed = 0;
        auto replies = run(steps, deadline);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            if (!replies[i]) {
                fault = std::move(replies[i]).error();
                continue;
            }
            const Answer answer(*replies[i]);
            if (!answer.good()) {
                fault = strange();
                continue;
            }
            if (answer.code() == 1) ++changed;
            if (answer.code() == 0 || answer.code() == 7) ++passed[places[i]];
            take(answer, members[i]);
        }
        return changed;
    }

    const std::unique_ptr<Line> line_;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace

std::unique_ptr<StoreSession> make_session(std::unique_ptr<Line> line, std::shared_ptr<Shared> shared) {
    return std::make_unique<Session>(std::move(line), std::move(shared));
}

}  // namespace nebis::redis::records
