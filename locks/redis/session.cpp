// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "entry.hpp"
#include "identify/digest.hpp"
#include "scripts.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace nebis::redis {
namespace {

Error strange() {
    return Error(ErrorKind::maybe_applied, "Redis answered a script with what it never returns", {},
                 "check that nothing between here and Redis rewrites replies")
        .with_code("redis-protocol");
}

std::string bytes_of(const Owner& owner) { return std::string(identify::as_text(owner.bytes)); }

/// A lock without a time limit would stand for ever.
std::string lease_of(std::int64_t millis) { return std::to_string(std::max<std::int64_t>(millis, 1)); }

class Session final : public GateSession {
public:
    Session(std::unique_ptr<Line> line, Usage usage)
        : line_(std::move(line)), usage_(std::move(usage)), channel_(usage_.wake ? channel_of(usage_.prefix) : "") {}

    void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline deadline) override {
        guarded(out, [&] {
            std::vector<std::size_t> all(in.size());
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
            const auto unreadable = enter_rows(in, all, out, deadline, usage_.results);
            // As if there were none; who finishes writes a new one.
            if (unreadable.empty()) return;
            enter_rows(in, unreadable, out, deadline, false);
            for (const std::size_t row : unreadable)
                if (out[row]) out[row]->unreadable_result = true;
        });
    }

    void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        yes_or_no(out, deadline, [&](std::size_t i) {
            Call call = call_of(Scripts::all().leave, in[i].trace_id, {bytes_of(in[i].owner), channel_});
            if (usage_.results && in[i].result && in[i].result_ttl_millis > 0 && is_terminal(in[i].result->status)) {
                call.arguments.push_back(std::to_string(in[i].result_ttl_millis));
                call.arguments.push_back(encode(*in[i].result));
            }
            return call;
        });
    }

    void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        yes_or_no(out, deadline, [&](std::size_t i) {
            return call_of(Scripts::all().renew, in[i].trace_id, {bytes_of(in[i].owner), lease_of(in[i].lease_millis)});
        });
    }

    Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis,
                       Deadline deadline) override {
        Result<bool> out = Error(ErrorKind::internal, "not set");
        yes_or_no({&out, 1}, deadline, [&](std::size_t) {
            Call call = call_of(Scripts::all().evict, trace_id, {});
            if (take) call.arguments = {bytes_of(*take), lease_of(lease_millis)};
            return call;
        });
        return out ? Result<void>() : Result<void>(std::move(out).error());
    }

private:
    template <class T, class Step>
    static void guarded(std::span<Result<T>> out, Step step) noexcept {
        try {
            step();
        } catch (const std::exception& thrown) {  // no memory, or no thread for a look-up
            for (auto& one : out) one = Error(ErrorKind::maybe_applied, "no resources to talk to Redis", thrown.what());
        }
    }

    Call call_of(const Script& script, std::string_view trace_id, std::vector<std::string> arguments) const {
        Names names = names_of(usage_.prefix, trace_id);
        return {&script, {std::move(names.lock), std::move(names.result)}, std::move(arguments)};
    }

    std::vector<Result<Reply>> run(const std::vector<Call>& calls, Deadline deadline) {
        std::vector<Result<Reply>> replies(calls.size(), Error(ErrorKind::internal, "not set"));
        line_->run(calls, replies, deadline);
        return replies;
    }

    /// Returns the rows whose result was there, seemed to fit, and can't be read.
    std::vector<std::size_t> enter_rows(std::span<const EnterRequest> in, const std::vector<std::size_t>& rows,
                                        std::span<Result<EnterOutcome>> out, Deadline deadline, bool results) {
        std::vector<Call> calls;
        calls.reserve(rows.size());
        for (const std::size_t row : rows)
            calls.push_back(call_of(Scripts::all().enter, in[row].trace_id,
                                    {bytes_of(in[row].owner), lease_of(in[row].lease_millis),
                                     results ? beginning_of(in[row].request_hash) : std::string()}));
        auto replies = run(calls, deadline);
        std::vector<std::size_t> unreadable;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::size_t row = rows[i];
            if (!replies[i]) {
                out[row] = std::move(replies[i]).error();
                continue;
            }
            if (replies[i]->kind == Reply::Kind::text) {
                auto result = decode(replies[i]->text, in[row].trace_id);
                if (!result || result->request_hash != in[row].request_hash) {
                    out[row] = strange();
                    unreadable.push_back(row);
                    continue;
                }
                EnterOutcome found;
                found.kind = EnterOutcome::Kind::finished;
                found.result = std::move(result);
                out[row] = std::move(found);
                continue;
            }
            out[row] = granted_or_held(*replies[i]);
        }
        return unreadable;
    }

    static Result<EnterOutcome> granted_or_held(const Reply& reply) {
        const bool wrapped = reply.kind == Reply::Kind::array && reply.elements.size() == 1;
        const Reply& number = wrapped ? reply.elements[0] : reply;
        if (number.kind != Reply::Kind::integer || number.integer < 0) return strange();
        EnterOutcome out;
        out.kind = number.integer == 0 ? EnterOutcome::Kind::granted : EnterOutcome::Kind::held;
        out.remaining_millis = number.integer;
        out.unreadable_result = wrapped;
        return out;
    }

    template <class Make>
    void yes_or_no(std::span<Result<bool>> out, Deadline deadline, Make make) {
        guarded(out, [&] {
            std::vector<Call> calls;
            for (std::size_t i = 0; i < out.size(); ++i) calls.push_back(make(i));
            auto replies = run(calls, deadline);
            for (std::size_t i = 0; i < out.size(); ++i) {
                if (!replies[i])
                    out[i] = std::move(replies[i]).error();
                else if (replies[i]->kind != Reply::Kind::integer)
                    out[i] = strange();
                else
                    out[i] = replies[i]->integer == 1;
            }
        });
    }

    const std::unique_ptr<Line> line_;
    const Usage usage_;
    const std::string channel_;
};

}  // namespace

std::unique_ptr<GateSession> make_session(std::unique_ptr<Line> line, Usage usage) {
    return std::make_unique<Session>(std::move(line), std::move(usage));
}

}  // namespace nebis::redis
