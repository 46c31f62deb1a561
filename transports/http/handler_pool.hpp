// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace nebis::http {

/// The threads that handlers run on. They are made when there is work and none is idle, up to `max_threads`; beyond
/// that tasks queue. The server bounds the queue: each connection has one request in hand.
///
/// **Threads**: `post` from any. **Lifetime**: the destructor lets queued tasks run and joins; from a task of its own
/// it doesn't wait.
class HandlerPool : public Executor {
public:
    explicit HandlerPool(std::size_t max_threads);
    ~HandlerPool() override;
    HandlerPool(const HandlerPool&) = delete;
    HandlerPool& operator=(const HandlerPool&) = delete;

    void post(std::function<void()> task) override;

    /// True when nothing was queued or running within the time.
    bool idle_within(std::chrono::milliseconds time) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace nebis::http
