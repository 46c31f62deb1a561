// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"

#include <chrono>
#include <string>

namespace nebis::torture {

/// One request as a client sends it.
struct Ask {
    std::string key;
    bool order = true;  ///< else a payment
    std::string logical;
    std::string bank_mode;  ///< how the bank is to misbehave; payments only
    int instance = 0;
    std::chrono::milliseconds patience{4'000};
};

/// What is tortured. **Threads**: asked from many.
class Target {
public:
    virtual ~Target() = default;
    virtual proof::Call ask(const Ask& ask) = 0;
};

inline proof::Micros now_micros() {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace nebis::torture
