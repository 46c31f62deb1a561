// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload.hpp"

#include <cstddef>
#include <vector>

/// Many fresh requests at a time, one after the other from each of 64 callers.
namespace nebis::bench {

inline constexpr std::size_t in_flight = 64;

/// A handler that takes no time.
const Handler& at_once();

/// Requests a second from `keys.size()` callers that never block: each callback starts the next request. With
/// `latencies`: microseconds of each request are added to it.
double callback_rate(const Engine& engine, const Operation& operation, std::vector<Keys>& keys, std::size_t total,
                     std::vector<double>* latencies = nullptr);

/// The same from as many threads that block.
double thread_rate(const Engine& engine, const Operation& operation, std::vector<Keys>& keys, std::size_t total);

}  // namespace nebis::bench
