// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Durations and clocks, `std::function`, `std::shared_ptr` and `std::unique_ptr`: what the other headers need of
/// `<chrono>`, `<functional>` and `<memory>`. Since C++17 these also bring calendars with all of the streams, searchers
/// with hash tables and the algorithms, and parallel algorithms: a quarter of the time that compiling a file with
/// `nebis/nebis.hpp` would take. Where the library keeps the parts in headers of their own, those are enough; the whole
/// ones beside them are fine. Whoever needs more than the parts includes the whole, as always.
#include <ratio>

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>  // IWYU pragma: export
#else
#include <chrono>  // IWYU pragma: export
#endif

#if defined(__GLIBCXX__) && __has_include(<bits/std_function.h>)
#include <bits/std_function.h>  // IWYU pragma: export
#else
#include <functional>  // IWYU pragma: export
#endif

#if defined(__GLIBCXX__) && __has_include(<bits/shared_ptr.h>) && __has_include(<bits/unique_ptr.h>)
#include <bits/shared_ptr.h>  // IWYU pragma: export
#include <bits/unique_ptr.h>  // IWYU pragma: export
#else
#include <memory>  // IWYU pragma: export
#endif
