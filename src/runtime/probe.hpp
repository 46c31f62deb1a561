// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

namespace nebis::runtime {

/// Named points of a request's life, for the torture loop and for tests that must stop a process exactly there:
/// `after-begin`, `before-finish`, `finish-sent`, `after-finish`, `in-recovery`, `in-cleanup`. One relaxed load while
/// nobody listens. Set before the first engine is opened; an empty function ends it.
void set_probe(std::function<void(std::string_view point)> probe);

namespace detail {
extern std::atomic<bool> probing;
void probe(std::string_view point);
}  // namespace detail

inline void probe(std::string_view point) {
    if (detail::probing.load(std::memory_order_relaxed)) [[unlikely]]
        detail::probe(point);
}

}  // namespace nebis::runtime
