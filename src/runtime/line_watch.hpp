// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "observe/log.hpp"
#include "observe/messages.hpp"
#include "observe/metrics.hpp"
#include "runtime/breaker.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace nebis::runtime {

/// What the engine tells the outside about itself. Shared with worker threads, which may outlive the engine when a
/// driver is stuck.
struct Watch {
    observe::Metrics metrics;
    std::unique_ptr<observe::Log> log = observe::make_silent_log();
    observe::Messages messages;
};

/// The part of it that belongs to one store or lock service.
class LineWatch {
public:
    LineWatch(std::shared_ptr<Watch> watch, std::string name)
        : watch_(std::move(watch)), name_(std::move(name)), metrics_(watch_->metrics.store(name_)) {}

    const std::string& name() const noexcept { return name_; }
    observe::StoreMetrics& metrics() const noexcept { return metrics_; }
    observe::Log& log() const noexcept { return *watch_->log; }

    void called(observe::StoreOp op, std::size_t rows, std::chrono::steady_clock::duration duration,
                const Error* worst) noexcept {
        metrics_.ops[op][result_of(worst)].observe(duration);
        metrics_.batched[op].add(rows);
    }
    void away(const Error* why) noexcept {
        metrics_.breaker.set(std::int64_t(observe::BreakerState::open));
        observe::Event event{
            .level = observe::Level::error, .message = "store or lock service is away", .store = name_};
        if (why) event.error_kind = to_string(why->kind()), event.detail = why->detail(), event.hint = why->hint();
        watch_->log->write(event);
    }
    void back() noexcept {
        metrics_.breaker.set(std::int64_t(observe::BreakerState::closed));
        watch_->log->write({.level = observe::Level::warn, .message = "store or lock service is back", .store = name_});
    }

private:
    static observe::StoreResult result_of(const Error* worst) noexcept {
        if (!worst) return observe::StoreResult::ok;
        if (worst->kind() == ErrorKind::unavailable) return observe::StoreResult::unavailable;
        return worst->kind() == ErrorKind::maybe_applied ? observe::StoreResult::maybe_applied
                                                         : observe::StoreResult::failed;
    }

    std::shared_ptr<Watch> watch_;
    std::string name_;
    observe::StoreMetrics& metrics_;
};

}  // namespace nebis::runtime
