// SPDX-License-Identifier: Apache-2.0
#include "runtime/batch_queue.hpp"

#include "runtime/futex.hpp"
#include "runtime/own_thread.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace nebis::runtime {

using JobPtr = std::shared_ptr<Job>;
using std::chrono::steady_clock;

// ---- Job

std::optional<Error> Job::abandon() {
    if (exchange_if(State::queued, State::dropped))
        return Error(ErrorKind::unavailable, "not reached within the time budget");
    if (!exchange_if(State::carried, State::lost)) return std::nullopt;
    return Error(changes ? ErrorKind::maybe_applied : ErrorKind::unavailable, "no reply within the time budget");
}

bool Job::wait() {
    for (;;) {
        const std::uint32_t seen = state_.load(std::memory_order_acquire);
        if (seen == std::uint32_t(State::done)) return true;
        if (steady_clock::now() >= deadline_) return false;
        futex_wait(state_, seen, deadline_);
    }
}

void Job::wake() noexcept { futex_wake(state_); }

// ---- the queue

namespace {

/// A driver that once kept a blocking caller beyond its deadline isn't lent callers' threads for this long.
constexpr auto distrust_for = std::chrono::seconds(10);
constexpr auto grace_of_driver = std::chrono::milliseconds(100);
constexpr auto stop_wait = std::chrono::seconds(5);

/// From so many callbacks on a second thread is woken to help with them.
constexpr std::size_t worth_sharing = 16;

/// Set while this thread delivers results for a queue: a blocking call made from there must not wait for that same
/// thread.
thread_local const void* delivering = nullptr;

class Delivering {
public:
    explicit Delivering(const void* queue) : outer_(std::exchange(delivering, queue)) {}
    ~Delivering() { delivering = outer_; }
    Delivering(const Delivering&) = delete;
    Delivering& operator=(const Delivering&) = delete;

private:
    const void* const outer_;
};

void tell(const JobPtr& job) {
    if (!job->finish()) return;
    if (job->sink)
        std::exchange(job->sink, nullptr)->job_done(job, std::nullopt);
    else
        job->wake();
}

/// The jobs of one batch whose askers wait for a callback, each told by whichever thread comes first.
class Callbacks {
public:
    explicit Callbacks(std::vector<JobPtr> jobs) : jobs_(std::move(jobs)) {}
    std::size_t size() const noexcept { return jobs_.size(); }
    void tell_all(const void* queue) {
        const Delivering here(queue);
        for (std::size_t at = 0; (at = next_.fetch_add(1, std::memory_order_relaxed)) < jobs_.size();)
            tell(std::exchange(jobs_[at], nullptr));
    }

private:
    std::vector<JobPtr> jobs_;
    std::atomic<std::size_t> next_{0};
};

}  // namespace

struct BatchQueue::State {
    State(std::shared_ptr<Carrier> to, Options with) : carrier(std::move(to)), options(std::move(with)) {}

    const std::shared_ptr<Carrier> carrier;
    const Options options;

    mutable std::mutex mutex;
    std::condition_variable work_ready;
    std::condition_variable worker_gone;
    std::array<std::deque<JobPtr>, max_kinds> waiting;  // by group
    std::size_t depth = 0;
    std::uint64_t order = 0;
    unsigned busy = 0;
    unsigned idle_workers = 0;
    unsigned workers = 0;
    bool stopping = false;
    Deadline trust_again{};
    Deadline next_sweep = Deadline::max();
    std::vector<std::vector<JobPtr>*> in_flight;
    std::shared_ptr<Callbacks> to_share;  ///< a delivery that an idle worker may help with
    std::vector<std::thread> threads;

    Error refusal() const {
        if (stopping) return {ErrorKind::unavailable, options.what + " queue is closed"};
        return {ErrorKind::overloaded,
                "too many requests wait for the " + options.what,
                {},
                "raise queue-max only if the " + options.what +
                    " can keep up; else add instances or slow the callers down"};
    }
    bool full() const { return stopping || depth >= options.queue_max; }

    void push(JobPtr job) {
        job->order = ++order;
        waiting[options.group[job->kind()]].push_back(std::move(job));
        ++depth;
    }

    void call_worker(const std::shared_ptr<State>& self) {
        if (busy >= options.slots) return;
        if (idle_workers > 0) return work_ready.notify_one();
        add_worker(self);
    }

    /// One more than there are slots: it helps to deliver while the others carry.
    void add_worker(const std::shared_ptr<State>& self) {
        if (workers > options.slots) return;
        threads.emplace_back([self] { work(self); });
        ++workers;
    }

    /// Somebody please help; nobody must.
    void share(const std::shared_ptr<Callbacks>& callbacks, const std::shared_ptr<State>& self) {
        const std::lock_guard lock(mutex);
        if (stopping) return;
        to_share = callbacks;
        if (idle_workers > 0) return work_ready.notify_one();
        try {
            add_worker(self);
        } catch (...) {  // no thread to be had
            to_share = nullptr;
        }
    }

    std::deque<JobPtr>* next_group() {
        if (options.urgent < max_kinds && !waiting[options.urgent].empty()) return &waiting[options.urgent];
        std::deque<JobPtr>* oldest = nullptr;
        for (auto& group : waiting)
            if (!group.empty() && (!oldest || group.front()->order < oldest->front()->order)) oldest = &group;
        return oldest;
    }

    /// Whatever waits, up to batch_max.
    void gather(std::vector<JobPtr>& batch, std::vector<JobPtr>& expired) {
        batch.clear();
        auto* group = next_group();
        if (!group) return;
        const Deadline now = steady_clock::now();
        while (!group->empty() && batch.size() < options.batch_max) {
            JobPtr job = std::move(group->front());
            group->pop_front();
            --depth;
            if (job->deadline() <= now)
                expired.push_back(std::move(job));
            else
                batch.push_back(std::move(job));
        }
        if (!batch.empty()) in_flight.push_back(&batch);
    }

    /// The batch as drivers want it: sorted, unique keys within a kind; a second request for a key waits for the next
    /// batch. Not under the mutex: those who come meanwhile would have to sleep.
    std::vector<Job*> arrange(std::vector<JobPtr>& batch) {
        std::vector<Job*> sorted;
        sorted.reserve(batch.size());
        for (const JobPtr& job : batch) sorted.push_back(job.get());
        std::sort(sorted.begin(), sorted.end(), [](const Job* a, const Job* b) {
            if (a->kind() != b->kind()) return a->kind() < b->kind();
            if (const int order = a->key().compare(b->key()); order != 0) return order < 0;
            return a->order < b->order;
        });
        std::vector<Job*> jobs;
        std::vector<Job*> again;
        jobs.reserve(sorted.size());
        for (Job* job : sorted) {
            const bool second = !jobs.empty() && jobs.back()->kind() == job->kind() && jobs.back()->key() == job->key();
            (second ? again : jobs).push_back(job);
        }
        if (!again.empty()) put_back(again, batch);
        std::erase_if(jobs, [](Job* job) { return !job->take(); });  // its asker has given up
        return jobs;
    }

    void put_back(const std::vector<Job*>& again, std::vector<JobPtr>& batch) {
        const std::lock_guard lock(mutex);
        auto& group = waiting[options.group[again.front()->kind()]];
        std::erase_if(batch, [&](JobPtr& job) {
            if (std::find(again.begin(), again.end(), job.get()) == again.end()) return false;
            group.push_front(std::move(job));
            ++depth;
            return true;
        });
        std::sort(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(again.size()),
                  [](const JobPtr& a, const JobPtr& b) { return a->order < b->order; });
    }

    /// Those who block first, so that they run while the callbacks of this batch are called. These take time: they end
    /// one request and often begin the next. While one thread called them all, the store would wait for it.
    void deliver(std::vector<JobPtr>& batch, const std::shared_ptr<State>& self) {
        for (const JobPtr& job : batch)
            if (!job->sink) tell(job);
        std::erase_if(batch, [](const JobPtr& job) { return !job->sink; });
        if (batch.empty()) return;
        const auto callbacks = std::make_shared<Callbacks>(std::move(batch));
        const bool shared = callbacks->size() >= worth_sharing;
        if (shared) share(callbacks, self);
        callbacks->tell_all(this);
        if (!shared) return;
        const std::lock_guard lock(mutex);
        if (to_share == callbacks) to_share = nullptr;
    }

    /// A worker without a batch helps to deliver another one's. The lock is held before and after.
    void help(std::unique_lock<std::mutex>& lock) {
        const auto callbacks = std::exchange(to_share, nullptr);
        lock.unlock();
        callbacks->tell_all(this);
        lock.lock();
    }

    void expire(std::vector<JobPtr>& expired) {
        const Delivering here(this);
        for (const JobPtr& job : expired)
            if (job->sink)
                if (auto lost = job->abandon()) std::exchange(job->sink, nullptr)->job_done(job, std::move(lost));
        expired.clear();  // a blocking asker sees its own deadline
    }

    void watch(Deadline deadline) {
        const Deadline now = steady_clock::now();
        if (now > deadline + grace_of_driver) trust_again = now + distrust_for;
    }
};

BatchQueue::BatchQueue(std::shared_ptr<Carrier> carrier, Options options)
    : state_(std::make_shared<State>(std::move(carrier), std::move(options))) {}

BatchQueue::~BatchQueue() { stop(); }

void BatchQueue::stop() {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->work_ready.notify_all();
    const bool gone = state_->worker_gone.wait_for(lock, stop_wait, [this] { return state_->workers == 0; });
    std::vector<std::thread> threads = std::move(state_->threads);
    lock.unlock();
    for (std::thread& thread : threads) {
        if (gone && thread.get_id() != std::this_thread::get_id())
            thread.join();
        else
            thread.detach();  // stuck in a driver: it holds all it needs
    }
}

std::optional<Error> BatchQueue::run(const JobPtr& job) {
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    const bool nested = delivering == &state;
    const bool idle = state.busy < state.options.slots && state.depth == 0;
    if (state.stopping) return state.refusal();
    if (nested || (idle && (state.trust_again == Deadline{} || steady_clock::now() >= state.trust_again))) {
        state.trust_again = {};
        if (!nested) ++state.busy;
        lock.unlock();
        Job* const alone = job.get();
        job->take();
        state.carrier->carry({&alone, 1});
        job->finish();
        lock.lock();
        state.watch(job->deadline());
        if (!nested) --state.busy;
        if (state.depth > 0) state.call_worker(state_);
        return std::nullopt;
    }
    if (state.full()) return state.refusal();
    state.push(job);
    state.call_worker(state_);
    lock.unlock();
    if (job->wait()) return std::nullopt;
    auto lost = job->abandon();
    if (job->lost()) state.carrier->overdue();
    return lost;
}

void BatchQueue::submit(JobPtr job) {
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    if (state.full()) {
        Error refusal = state.refusal();
        lock.unlock();
        std::exchange(job->sink, nullptr)->job_done(job, std::move(refusal));
        return;
    }
    const Deadline deadline = job->deadline();
    state.push(std::move(job));
    state.call_worker(state_);
    if (deadline >= state.next_sweep) return;
    state.next_sweep = deadline;
    lock.unlock();
    if (state.options.arm) state.options.arm(deadline);
}

void BatchQueue::work(const std::shared_ptr<State>& shared) {
    own_thread = true;
    State& state = *shared;
    std::vector<JobPtr> batch;
    std::vector<JobPtr> expired;
    std::unique_lock lock(state.mutex);
    for (;;) {
        ++state.idle_workers;
        state.work_ready.wait(lock, [&] {
            return state.stopping || state.to_share || (state.depth > 0 && state.busy < state.options.slots);
        });
        --state.idle_workers;
        if (state.to_share) {
            state.help(lock);
            continue;
        }
        if (state.depth == 0 || state.busy >= state.options.slots) break;  // stopping
        ++state.busy;
        std::size_t last = 1;
        while (state.depth > 0) {
            if (last > 1 || state.depth > 1) {
                // Those who were just woken get their turn to add to this batch.
                lock.unlock();
                sched_yield();
                lock.lock();
            }
            state.gather(batch, expired);
            last = batch.size();
            lock.unlock();
            state.expire(expired);
            if (!batch.empty()) {
                if (const auto jobs = state.arrange(batch); !jobs.empty()) state.carrier->carry(jobs);
                lock.lock();
                std::erase(state.in_flight, &batch);
                lock.unlock();
                state.deliver(batch, shared);
                batch.clear();
            }
            lock.lock();
        }
        --state.busy;
    }
    --state.workers;
    state.worker_gone.notify_all();
}

void BatchQueue::sweep(Deadline now) {
    State& state = *state_;
    std::vector<JobPtr> late;
    Deadline next = Deadline::max();
    {
        const std::lock_guard lock(state.mutex);
        auto look = [&](const JobPtr& job) {
            if (!job->sink) return;
            if (job->deadline() <= now)
                late.push_back(job);
            else
                next = std::min(next, job->deadline());
        };
        for (const auto& group : state.waiting) std::for_each(group.begin(), group.end(), look);
        for (const auto* batch : state.in_flight) std::for_each(batch->begin(), batch->end(), look);
        state.next_sweep = next;
    }
    if (next != Deadline::max() && state.options.arm) state.options.arm(next);
    for (const JobPtr& job : late) {
        auto lost = job->abandon();
        if (!lost) continue;
        if (job->lost()) state.carrier->overdue();
        job->sink->job_done(job, std::move(lost));
    }
}

std::size_t BatchQueue::depth() const {
    const std::lock_guard lock(state_->mutex);
    return state_->depth;
}

}  // namespace nebis::runtime
