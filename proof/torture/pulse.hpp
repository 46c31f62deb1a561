// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"

#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace nebis::torture {

/// Feels whether the machine itself stands still: a busy processor or a slow disk can cost a healthy instance its
/// lease, and that is a fault like any other. Writes and syncs one byte again and again. **Threads**: safe.
class Pulse {
public:
    /// A beat that takes longer than `patience` is a fault, from its begin until `after` its end.
    Pulse(std::string file, std::chrono::milliseconds patience, std::chrono::milliseconds after);
    std::vector<proof::Fault> faults() const;

private:
    void beat(const std::stop_token& stop);

    const std::string file_;
    const std::chrono::milliseconds patience_, after_;
    mutable std::mutex mutex_;
    std::vector<proof::Fault> faults_;
    std::jthread heart_;
};

}  // namespace nebis::torture
