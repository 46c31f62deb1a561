// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <optional>

namespace nebis::runtime {

class Call;

/// What all copies of one Completion share. The first word counts; if the last copy goes without a word, the attempt
/// was abandoned.
struct CompletionState {
    explicit CompletionState(std::shared_ptr<Call> of) : call(std::move(of)) {}
    ~CompletionState();

    void end(std::optional<Response> response, std::exception_ptr failure);

    std::shared_ptr<Call> call;
    std::atomic<bool> ended{false};
};

}  // namespace nebis::runtime
