// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include "driver/begin_outcomes.hpp"
#include "record.hpp"
#include "redis_client/errors.hpp"

#include <algorithm>
#include <utility>

namespace nebis::redis::records {

Error strange() {
    return Error(ErrorKind::maybe_applied, "Redis answered a script with what it never returns", {},
                 "check that nothing between here and Redis rewrites replies")
        .with_code("redis-protocol");
}

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
            out = driver::acquired(static_cast<std::uint64_t>(answer.number(2)),
                                   static_cast<std::uint32_t>(answer.number(3)), request.owner, answer.now());
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
        case 6: return driver::late_at(answer.now());
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

}  // namespace nebis::redis::records
