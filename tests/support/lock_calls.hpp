// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

/// A Lock, called as tests like to.
namespace nebis::test {

inline Owner owner(unsigned char number) {
    Owner made;
    made.bytes.fill(number);
    return made;
}

inline Deadline in(std::chrono::milliseconds span) { return std::chrono::steady_clock::now() + span; }

class LockCalls {
public:
    explicit LockCalls(std::shared_ptr<Lock> lock) : lock_(std::move(lock)) {}

    Result<std::int64_t> acquire(std::string_view key, unsigned char who,
                                 std::chrono::milliseconds lease = std::chrono::seconds(60),
                                 std::chrono::milliseconds span = std::chrono::seconds(20)) const {
        return lock_->acquire(key, owner(who), lease.count(), in(span));
    }
    Result<bool> renew(std::string_view key, unsigned char who,
                       std::chrono::milliseconds lease = std::chrono::seconds(60)) const {
        return lock_->renew(key, owner(who), lease.count(), in(std::chrono::seconds(20)));
    }
    Result<bool> release(std::string_view key, unsigned char who,
                         std::chrono::milliseconds span = std::chrono::seconds(20)) const {
        return lock_->release(key, owner(who), in(span));
    }
    bool acquired(std::string_view key, unsigned char who,
                  std::chrono::milliseconds lease = std::chrono::seconds(60)) const {
        const auto rest = acquire(key, who, lease);
        return rest && *rest == 0;
    }
    bool held(std::string_view key, unsigned char who) const {
        const auto rest = acquire(key, who);
        return rest && *rest > 0;
    }

private:
    std::shared_ptr<Lock> lock_;
};

/// "granted", "held", or the error's kind and code: fit for EXPECT_EQ.
inline std::string said(const Result<std::int64_t>& rest) {
    if (!rest) return std::string(to_string(rest.error().kind())) + " " + rest.error().code();
    return *rest == 0 ? "granted" : "held";
}

}  // namespace nebis::test
