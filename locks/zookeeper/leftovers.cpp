// SPDX-License-Identifier: Apache-2.0
#include "leftovers.hpp"

#include "driver/lock_mark.hpp"
#include "nodes.hpp"

namespace nebis::zookeeper {
namespace {

// Whoever left in time has been heard of by then.
constexpr std::chrono::seconds grace{1};
constexpr std::chrono::milliseconds longest_sweep{500};

}  // namespace

void Leftovers::note(const std::string& path, std::int64_t lease_millis) {
    const std::chrono::milliseconds lease(driver::end_of_lease(0, lease_millis));
    const std::lock_guard lock(mutex_);
    noted_[path] = {Clock::now() + lease + grace, ++last_};
}

Leftovers::Stamp Leftovers::stamp(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto at = noted_.find(path);
    return at == noted_.end() ? 0 : at->second.stamp;
}

void Leftovers::forget(const std::string& path, Stamp stamp) {
    const std::lock_guard lock(mutex_);
    const auto at = noted_.find(path);
    if (at != noted_.end() && at->second.stamp == stamp) noted_.erase(at);
}

void Leftovers::look_later(const std::string& path, Stamp stamp) {
    const std::lock_guard lock(mutex_);
    const auto at = noted_.find(path);
    if (at != noted_.end() && at->second.stamp == stamp) at->second.until = Clock::now() + grace;
}

std::vector<std::pair<std::string, Leftovers::Stamp>> Leftovers::due() const {
    const auto now = Clock::now();
    std::vector<std::pair<std::string, Stamp>> out;
    const std::lock_guard lock(mutex_);
    for (const auto& [path, noted] : noted_)
        if (noted.until <= now) out.emplace_back(path, noted.stamp);
    return out;
}

void Leftovers::sweep(Session& session, std::int64_t now_millis) {
    const auto deadline = Clock::now() + longest_sweep;
    for (const auto& [path, stamp] : due()) {
        const auto node = look(session, path, deadline);
        if (!node) return;
        const auto mark = *node ? driver::decode_mark((*node)->value) : std::nullopt;
        if (!mark || (*node)->session != session.id()) {
            forget(path, stamp);  // nothing there, or nothing of ours
        } else if (mark->until_millis > now_millis) {
            look_later(path, stamp);  // clocks that differ
        } else {
            const auto gone = remove(session, path, (*node)->version, deadline);
            if (!gone) return;
            if (*gone == Did::other_version)
                look_later(path, stamp);
            else
                forget(path, stamp);
        }
    }
}

}  // namespace nebis::zookeeper
