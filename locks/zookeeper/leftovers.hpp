// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

#include <map>
#include <vector>

namespace nebis::zookeeper {

/// The nodes that this process may still have in ZooKeeper. They live as long as its session: a lock that nobody
/// leaves, or whose release was lost, has to be taken away when it is over. **Threads**: safe.
class Leftovers {
public:
    using Stamp = std::uint64_t;

    void note(const std::string& path, std::int64_t lease_millis);
    Stamp stamp(const std::string& path) const;  ///< 0: not noted
    /// Unless it was noted again since.
    void forget(const std::string& path, Stamp stamp);
    /// Takes away what is over, by this wall clock, and of our session. At most half a second's work.
    void sweep(Session& session, std::int64_t now_millis);

private:
    using Clock = std::chrono::steady_clock;
    struct Noted {
        Clock::time_point until;
        Stamp stamp = 0;
    };
    std::vector<std::pair<std::string, Stamp>> due() const;
    void look_later(const std::string& path, Stamp stamp);

    mutable std::mutex mutex_;
    std::map<std::string, Noted> noted_;
    Stamp last_ = 0;
};

}  // namespace nebis::zookeeper
