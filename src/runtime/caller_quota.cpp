// SPDX-License-Identifier: Apache-2.0
#include "runtime/caller_quota.hpp"

#include "identify/digest.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace nebis::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

nanoseconds each(const CallerQuota::Terms& terms) {
    return nanoseconds(terms.window) / static_cast<nanoseconds::rep>(terms.keys);
}

}  // namespace

CallerQuota::Caller CallerQuota::caller(std::string_view operation, std::string_view tenant,
                                        std::string_view principal) {
    std::string framed;
    for (const auto& part : {operation, tenant, principal}) identify::append_framed(framed, part);
    const identify::Digest digest = identify::sha256(framed);
    Caller caller;
    std::copy_n(digest.begin(), caller.size(), caller.begin());
    return caller;
}

CallerQuota::Clock::time_point& CallerQuota::all_back(const Caller& caller) {
    if (const auto known = young_.find(caller); known != young_.end()) return known->second;
    Clock::time_point moment{};
    if (const auto known = old_.find(caller); known != old_.end()) moment = known->second;
    if (young_.size() >= per_generation_) old_ = std::exchange(young_, {});
    return young_.emplace(caller, moment).first->second;
}

milliseconds CallerQuota::take(const Caller& caller, const Terms& terms, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    Clock::time_point& back = all_back(caller);
    const Clock::time_point then = std::max(back, now) + each(terms);
    if (const auto late = then - (now + terms.window); late.count() > 0)
        return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(late));
    back = then;
    return milliseconds(0);
}

void CallerQuota::give_back(const Caller& caller, const Terms& terms) {
    const std::lock_guard lock(mutex_);
    all_back(caller) -= each(terms);
}

void CallerQuota::count(const Caller& caller, const Terms& terms, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    Clock::time_point& back = all_back(caller);
    // What was let through beyond the quota keeps new keys out for a window more at most.
    back = std::min(std::max(back, now) + each(terms), now + 2 * terms.window);
}

std::size_t CallerQuota::callers() const {
    const std::lock_guard lock(mutex_);
    return young_.size() + old_.size();
}

}  // namespace nebis::runtime
