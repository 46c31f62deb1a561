// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers.hpp"
#include "asking.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

namespace nebis::redis::records {

/// What a round of upkeep does: which index of a bucket says what is due, the call for one member, and who gets the
/// answers.
struct Chore {
    std::function<std::string(std::size_t bucket)> index;
    std::function<Call(const std::string& member)> step;
    std::function<void(const Answer&, std::string_view member)> take;
};

/// Each bucket once at most, from `next` on, until `limit` rows were changed or the deadline is near. Returns how many
/// were; `next` is where the following call goes on, so that a bucket with much to do doesn't starve the others.
Result<std::size_t> go_round(Asking& asking, const Chore& chore, std::atomic<std::size_t>& next, std::size_t limit,
                             Deadline deadline);

}  // namespace nebis::redis::records
