// SPDX-License-Identifier: Apache-2.0
#include "runtime/probe.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace nebis::runtime {
namespace {
std::mutex mutex;
std::shared_ptr<const std::function<void(std::string_view)>> listener;
}  // namespace

namespace detail {
std::atomic<bool> probing{false};

void probe(std::string_view point) {
    std::shared_ptr<const std::function<void(std::string_view)>> current;
    {
        const std::lock_guard lock(mutex);
        current = listener;
    }
    if (current) (*current)(point);
}
}  // namespace detail

void set_probe(std::function<void(std::string_view point)> probe) {
    const std::lock_guard lock(mutex);
    const bool on = static_cast<bool>(probe);
    listener = on ? std::make_shared<const std::function<void(std::string_view)>>(std::move(probe)) : nullptr;
    detail::probing.store(on, std::memory_order_relaxed);
}

}  // namespace nebis::runtime
