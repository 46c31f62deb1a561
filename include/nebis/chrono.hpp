// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Durations and clocks: what the other headers need of `<chrono>`. Since C++20 that also brings calendars, and with
/// them all of the input and output streams: a sixth of the time that compiling a file with `nebis/nebis.hpp` takes.
/// Where the library keeps the old part in a header of its own, that one is enough; `<chrono>` beside it is fine.
#include <ratio>

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>  // IWYU pragma: export
#else
#include <chrono>  // IWYU pragma: export
#endif
