// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything a service needs; described structs (`nebis/describe.hpp`) and drivers are included by those who use them.
#include "nebis/answer.hpp"     // IWYU pragma: export
#include "nebis/codec.hpp"      // IWYU pragma: export
#include "nebis/engine.hpp"     // IWYU pragma: export
#include "nebis/error.hpp"      // IWYU pragma: export
#include "nebis/execution.hpp"  // IWYU pragma: export
#include "nebis/extend.hpp"     // IWYU pragma: export
#include "nebis/policy.hpp"     // IWYU pragma: export
#include "nebis/request.hpp"    // IWYU pragma: export
