// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"
#include "nebis/answer.hpp"
#include "nebis/store.hpp"

#include <exception>
#include <string>

namespace nebis::runtime {

/// What a handler's exception says about the effect.
struct Ending {
    RecordStatus status = RecordStatus::unknown;  ///< SUCCESS, FAIL, REJECTED or UNKNOWN
    Response refusal;                             ///< REJECTED: what every duplicate is told
};

/// By certainty, not by kind (protocol, step 5): the operation's ExceptionClassifier first, then the typed signals,
/// then the configured lists (a listed type stands for the types derived from it), then known time-outs and lost
/// connections, then `unlisted`. In an `atomic` transaction, which surely rolled back, what isn't said to be rejected
/// or unknown is FAIL. Never throws.
Ending classify(const config::OperationSettings& settings, const std::exception_ptr& failure) noexcept;

}  // namespace nebis::runtime
