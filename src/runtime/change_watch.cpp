// SPDX-License-Identifier: Apache-2.0
#include "runtime/change_watch.hpp"

#include "runtime/own_thread.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace nebis::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long one wait for a change may last: bounds how late the thread sees that nobody waits any more.
constexpr auto longest_look = milliseconds(250);
/// A busy store changes all the time; the waiters' records are looked at no more often than this.
constexpr auto shortest_step = milliseconds(2);
/// A gate that can't tell just now is asked again after this; meanwhile the store is.
constexpr auto gate_pause = milliseconds(1'000);
/// Its messages are drawn no longer than this when nobody waits for them.
constexpr auto longest_idle = milliseconds(1'000);
constexpr auto find_wait = milliseconds(1'000);

/// The finds of one look. Shared with the workers, which may answer late.
struct Finds final : JobSink {
    std::mutex mutex;
    std::condition_variable done;
    std::vector<std::shared_ptr<StoreJob>> jobs;
    std::vector<std::string> keys;
    std::vector<bool> answered;
    std::size_t open = 0;

    void job_done(const std::shared_ptr<Job>& job, std::optional<Error> lost) noexcept override {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (jobs[i] == job) answered[i] = !lost;
        if (--open == 0) done.notify_all();
    }
};

bool still_waits(const FindOutcome& found, std::uint64_t version) {
    const Record* const record = found.record ? &*found.record : nullptr;
    return record && record->status == RecordStatus::processing && (version == 0 || record->version == version) &&
           (record->lease_expire_time == 0 || record->lease_expire_time > found.now);
}

}  // namespace

ChangeWatch::Ticket ChangeWatch::add(std::string_view trace_id, std::uint64_t version, Wake wake) {
    const std::lock_guard lock(mutex_);
    Ticket ticket{std::string(trace_id), ++number_};
    waiters_.emplace(ticket.trace_id, std::pair{ticket.number, Waiter{version, std::move(wake)}});
    if (stopping_) return ticket;
    if (!thread_.joinable())
        thread_ = std::thread([this] { loop(); });
    else if (waiters_.size() == 1)
        changed_.notify_one();
    return ticket;
}

bool ChangeWatch::remove(const Ticket& ticket) {
    Wake dropped;
    const std::lock_guard lock(mutex_);
    const auto [first, last] = waiters_.equal_range(ticket.trace_id);
    for (auto at = first; at != last; ++at) {
        if (at->second.first != ticket.number) continue;
        dropped = std::move(at->second.second.wake);
        waiters_.erase(at);
        return true;
    }
    return false;
}

void ChangeWatch::loop() {
    own_thread = true;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (waiters_.empty()) {
            if (!word_)
                changed_.wait(lock);
            else if (changed_.wait_for(lock, longest_idle) == std::cv_status::timeout && waiters_.empty())
                word_.reset();
            continue;
        }
        lock.unlock();
        const auto started = steady_clock::now();
        const bool changed = wait_for_word(started + longest_look);
        if (changed) look();
        lock.lock();
        if (changed && !stopping_) changed_.wait_until(lock, started + shortest_step, [this] { return stopping_; });
    }
}

/// True: the waiters' records are worth a look.
bool ChangeWatch::wait_for_word(Deadline until) {
    if (gate_ && !word_ && steady_clock::now() >= next_try_) {
        auto opened = gate_->watch(until);
        if (opened && *opened) {
            word_ = *std::move(opened);
            return true;  // who left before we listened was not heard
        }
        if (opened) gate_ = nullptr;
        next_try_ = steady_clock::now() + gate_pause;
    }
    if (word_) {
        // A word may get lost, and an attempt without a lock says none: when none came it is time to look as well.
        if (word_->wait(until).has_value()) return true;
        word_.reset();
        next_try_ = steady_clock::now() + gate_pause;
    }
    return store_->store()->wait_for_change(until);
}

void ChangeWatch::look() {
    auto finds = std::make_shared<Finds>();
    {
        const std::lock_guard lock(mutex_);
        for (auto at = waiters_.begin(); at != waiters_.end(); at = waiters_.upper_bound(at->first))
            finds->keys.push_back(at->first);
    }
    const auto deadline = steady_clock::now() + find_wait;
    finds->answered.resize(finds->keys.size());
    finds->open = finds->keys.size();
    for (const std::string& key : finds->keys) {
        auto job = std::make_shared<StoreJob>(FindRequest{key}, deadline, finds);
        job->sink = finds;
        finds->jobs.push_back(std::move(job));
    }
    if (finds->jobs.empty()) return;
    for (std::size_t i = 0; i < finds->keys.size(); ++i) {
        std::shared_ptr<StoreJob> job;
        {
            const std::lock_guard lock(finds->mutex);
            job = finds->jobs[i];
        }
        store_->submit(job);
    }
    std::vector<Wake> wakes;
    {
        std::unique_lock wait(finds->mutex);
        finds->done.wait_until(wait, deadline + milliseconds(100), [&] { return finds->open == 0; });
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < finds->keys.size(); ++i) {
            if (!finds->answered[i]) continue;
            const auto& out = std::get<Result<FindOutcome>>(finds->jobs[i]->out);
            if (!out) continue;
            const auto [first, last] = waiters_.equal_range(finds->keys[i]);
            for (auto at = first; at != last;) {
                if (still_waits(*out, at->second.second.version)) {
                    ++at;
                    continue;
                }
                wakes.push_back(std::move(at->second.second.wake));
                at = waiters_.erase(at);
            }
        }
        finds->jobs.clear();  // breaks the circle job → finds → job
    }
    for (const Wake& wake : wakes) wake();
}

void ChangeWatch::stop() {
    std::thread thread;
    std::vector<Wake> dropped;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        thread.swap(thread_);
        changed_.notify_all();
    }
    if (thread.joinable()) thread.join();
}

}  // namespace nebis::runtime
