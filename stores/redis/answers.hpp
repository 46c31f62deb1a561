// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/shown_key.hpp"
#include "nebis/store.hpp"
#include "redis_client/reply.hpp"

#include <string_view>

/// What the scripts answer, as outcomes. `member` is the key's SHA-256 in hex, as the row's name says it.
namespace nebis::redis::records {

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
    Error damage(std::string_view member) const { return driver::damaged_digest(member, at(2).text); }

private:
    const Reply& reply_;
};

/// An answer of no such shape. Whatever sent it, the script may have run.
Error strange();

Result<BeginOutcome> begun(const Reply& reply, const BeginRequest& request, std::string_view member);
Result<FinishOutcome> finished(const Reply& reply, std::string_view member);
Result<RenewOutcome> renewed(const Reply& reply, std::string_view member);
Result<FindOutcome> found(const Reply& reply, std::string_view member);

}  // namespace nebis::redis::records
