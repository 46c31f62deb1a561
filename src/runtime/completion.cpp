// SPDX-License-Identifier: Apache-2.0
#include "nebis/engine.hpp"
#include "runtime/call.hpp"
#include "runtime/completion_state.hpp"

#include <utility>

namespace nebis {

void Completion::answer(Response response) const { state_->end(std::move(response), nullptr); }

void Completion::fail(std::exception_ptr failure) const {
    if (!failure) failure = std::make_exception_ptr(OutcomeUnknown("the handler failed without saying how"));
    state_->end(std::nullopt, std::move(failure));
}

namespace runtime {

CompletionState::~CompletionState() {
    end(std::nullopt, std::make_exception_ptr(OutcomeUnknown("the handler went away without an answer")));
}

void CompletionState::end(std::optional<Response> response, std::exception_ptr failure) {
    if (ended.exchange(true, std::memory_order_acq_rel)) return;
    std::exchange(call, nullptr)->completed(std::move(response), std::move(failure));
}

}  // namespace runtime

namespace {
class Inline final : public Executor {
public:
    void post(std::function<void()> task) override { task(); }
};
}  // namespace

Executor& inline_executor() noexcept {
    static Inline executor;
    return executor;
}

}  // namespace nebis
