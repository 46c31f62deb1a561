// SPDX-License-Identifier: Apache-2.0
#include "nebis/engine.hpp"
#include "runtime/call.hpp"
#include "runtime/core.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace nebis {
namespace {

/// Runs handlers and collects answers on the thread that called run_batch: stores' workers go on with the next batch
/// meanwhile.
class CallersThread final : public Executor {
public:
    void post(std::function<void()> task) override {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        ready_.notify_one();
    }
    void run_until(const std::size_t& open) {
        while (open > 0) {
            std::unique_lock lock(mutex_);
            ready_.wait(lock, [this] { return !tasks_.empty(); });
            std::deque<std::function<void()>> tasks;
            tasks.swap(tasks_);
            lock.unlock();
            for (auto& task : tasks) task();
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<std::function<void()>> tasks_;
};

}  // namespace

std::vector<Answer> Engine::run_batch(
    const Operation& operation, std::span<const BatchItem> items,
    const std::function<Response(std::size_t, const Request&, Execution&)>& handler) const {
    std::vector<Answer> answers(items.size());
    std::size_t open = items.size();
    // Shared: a worker may still be inside `post` when the last answer has been taken.
    const auto thread = std::make_shared<CallersThread>();
    for (std::size_t i = 0; i < items.size(); ++i) {
        runtime::CallOptions call;
        call.executor = thread.get();
        call.patient = true;  // equal keys inside a batch run once, the others get the same answer
        call.done = [&answers, &open, i, thread](Answer answer) {
            answers[i] = std::move(answer);
            --open;
        };
        Handler one(
            [&handler, i](const Request& request, Execution& execution) { return handler(i, request, execution); });
        runtime::Call::start(core_->services(), operation.state(), items[i].request, std::move(one), std::move(call));
    }
    thread->run_until(open);
    return answers;
}

}  // namespace nebis
