// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"
#include "protocol/request_machine.hpp"
#include "runtime/change_watch.hpp"
#include "runtime/classify.hpp"
#include "runtime/execution_state.hpp"
#include "runtime/job.hpp"
#include "runtime/operation_state.hpp"
#include "runtime/renewer.hpp"
#include "runtime/services.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace nebis::runtime {

/// How a call is made.
struct CallOptions {
    Executor* executor = nullptr;  ///< null: the blocking shape, everything on the caller's thread
    Executor* answers = nullptr;   ///< where `done` runs; null: as `executor`
    std::function<void(Answer)> done;
    std::stop_token caller_gone;
    bool patient = false;  ///< joins a running attempt whatever the policy says (batches)
};

/// One protected request: feeds its RequestMachine with what happens and does what it says. The blocking, callback and
/// coroutine shapes are this one loop; they differ in where an action's result comes from: at once, or later through
/// `job_done`, a timer, an executor.
///
/// Exactly one thread drives a call at a time: the caller's own in the blocking shape, in the others whoever brings the
/// awaited event. A blocking call whose record couldn't be written yet goes on without its caller.
class Call final : public JobSink, public std::enable_shared_from_this<Call> {
public:
    Call(std::shared_ptr<Services> services, std::shared_ptr<OperationState> operation);
    ~Call();

    /// The blocking shape.
    static Answer run(const std::shared_ptr<Services>& services, const std::shared_ptr<OperationState>& operation,
                      const Request& request, const Handler& handler);
    /// The callback shape.
    static void start(const std::shared_ptr<Services>& services, const std::shared_ptr<OperationState>& operation,
                      Request request, Handler handler, CallOptions options);

    void job_done(const std::shared_ptr<Job>& job, std::optional<Error> lost) noexcept override;

    /// A handler that answers later has ended.
    void completed(std::optional<Response> response, std::exception_ptr failure);

private:
    using Clock = std::chrono::steady_clock;
    using Event = protocol::Event;
    using Action = protocol::Action;
    using Next = std::optional<Event>;  ///< the result of an action if it is there already; else it comes by itself

    // ---- call.cpp: in, the loop, out
    struct Admission {
        std::optional<Answer> answer;
        identify::Identity identity;
        std::size_t hash = 0;  ///< of the trace id, for this process's tables
        Clock::time_point at{};
    };
    static Admission admit(Services& services, OperationState& operation, const Request& request,
                           const Handler& handler);
    static LocalCache::Found look_near(Services& services, const OperationState& operation, const TraceKey& key,
                                       Clock::time_point now);
    static Result<RequestHash> hash_of(Services& services, identify::Identification& who, const LocalCache::Found& near,
                                       const TraceKey& key);
    static std::optional<Answer> from_cache(Services& services, OperationState& operation, const Request& request,
                                            const identify::Identity& identity, const CachedResult& hit);
    void identified(Admission admission);
    void begin_work();
    void drive(Event first);
    Action next_action(const Event& event);
    void end_with(Answer answer);
    void deliver(Answer answer);
    void finish_call();
    Answer take_answer();
    void caller_left();
    TraceKey key() const noexcept { return {execution_.trace_id, trace_hash_}; }
    /// For the thread that drives: it changes when a blocking caller leaves.
    bool blocking() const noexcept { return !options_.executor && !left_; }

    // ---- unprotected.cpp: observe mode, switched off, no key
    Action unprotected(const Event& event);
    observe::Would would_be(const protocol::RowView& row) const;

    // ---- flood.cpp: a filter and a quota in front
    Event first_event();
    bool take_new_key();
    void key_is(bool made);
    void count_over_quota(protocol::Verdict verdict);

    // ---- joining.cpp: duplicates of the same process
    enum class SharedKind : std::uint8_t {
        answer,              ///< the same for all
        running,             ///< an attempt runs, and you don't wait for it
        again,               ///< nothing came of it: begin yourself
        retry_if_time_left,  ///< somebody else's attempt runs
    };
    struct Shared {
        SharedKind kind = SharedKind::again;
        Answer answer;
    };
    bool join_or_lead();
    bool wait_for_leader(std::uint32_t ticket);
    void leader_timed_out();
    void told(std::shared_ptr<const Shared> shared);
    bool heard();
    void mark_running();
    void land(const Answer& answer, protocol::Verdict verdict);
    Clock::time_point joiner_deadline() const;
    Answer joiner_late() const;
    Answer joiner_out_of_time() const;
    SharedKind shared_kind(const Answer& answer, protocol::Verdict verdict) const;

    // ---- actions.cpp: what the machine asks for
    Next perform(const Action& action);
    struct Posted;
    Next elsewhere(Event::Kind ended, std::function<Next()> work);
    Event never_run(Event::Kind ended);
    Next enter(const Action& action);
    Next leave(const Action& action);
    Next begin(const Action& action);
    Next find(const Action& action);
    Next finish(const Action& action);
    Next reserve(const Action& action);
    Next wait(const Action& action);
    Next to_store(const std::shared_ptr<StoreJob>& job);
    Next from_store(StoreJob& job);
    BeginRequest begin_request(const Action& action);

    /// `passed`: time may have passed since the clock was last read.
    Event event(Event::Kind kind, bool passed = true);
    Event failed(Event::Kind kind, Error error);
    Event lost_job(Error error);
    Event entered(Result<EnterOutcome> outcome);
    Next begun(Result<BeginOutcome> outcome);
    Next begin_under_scheme(const BeginOutcome& outcome);
    void learn(Event& event, BeginOutcome& outcome);
    Event found(Result<FindOutcome> outcome);
    Event finished(Result<FinishOutcome> outcome);
    Event reserved(Result<RenewOutcome> outcome);
    bool same_scheme(const RequestHash& stored);
    protocol::RowView view(const std::optional<Record>& record, StoreMillis now) const;

    std::uint32_t open_wait();
    bool close_wait(std::uint32_t ticket);
    void drop_timer();
    void woken(std::uint32_t ticket);

    // ---- handling.cpp: handlers and other extension points
    void start_attempt(const Action& action);
    void end_attempt();
    Next run_handler(const Action& action);
    Next run_later();
    Next run_atomic(const Action& action);
    Next hook(const Action& action);
    Next ask(const Action& action);
    Event call_handler();
    Event not_started(Event::Kind ended, const char* why);
    Event handler_ended(std::optional<Response> response, std::exception_ptr failure);
    std::optional<Error> seal_request(BeginRequest& begin, std::string& body) const;
    AtomicReport transact(const Action& action);
    Event atomic_ended(AtomicReport report);
    Event atomic_unprotected();
    void ending(std::exception_ptr failure, Event& event);
    void count_handler(RecordStatus result);
    void note_size();
    Execution execution();
    const Response* kept_response() const;
    std::string redacted(const Request& request) const;

    // ---- answering.cpp
    Next answer(const Action& action);
    Answer make_answer(const Action& action);
    Answer bare(Outcome outcome) const;
    std::string words(Outcome outcome) const;
    void met_damage(const Error& error);
    Answer refused(Error error, Outcome outcome = Outcome::refused) const;
    void refused_duplicate(Answer& answer) const;
    void replay(Answer& answer, RecordStatus status, Response response, std::uint64_t version,
                std::uint32_t attempts) const;
    void keep(const Action& action);
    void count(const Answer& answer) const;

    /// What a duplicate is told to wait when nothing better is known.
    static constexpr std::int64_t busy_retry_millis = 1'000;
    /// S29: finished results live this long in the gate's cache.
    static constexpr std::chrono::milliseconds gate_results_live{std::chrono::minutes(10)};

    const std::shared_ptr<Services> services_;
    const std::shared_ptr<OperationState> operation_;
    CallOptions options_;
    const Request* request_ = nullptr;  ///< the caller's, or `own_request_`; null once a blocking caller has left
    const Handler* handler_ = nullptr;
    std::optional<Request> own_request_;
    std::optional<Handler> own_handler_;

    ExecutionState execution_;  ///< key, trace id, owner …; handed out through an aliasing pointer
    RequestHash hash_;
    protocol::RequestMachine machine_;
    Action action_;  ///< the one whose event is awaited
    std::size_t trace_hash_ = 0;
    Clock::time_point started_{};
    Clock::time_point now_{};  ///< read again after whatever may have taken time
    Clock::time_point handler_started_{};

    // ---- what was learnt on the way
    std::optional<Record> record_;  ///< the row last seen
    StoreMillis record_seen_ = 0;
    std::shared_ptr<const CachedResult> cached_;
    std::chrono::milliseconds cache_ttl_{0};
    Response response_;  ///< of the handler or the resolver, or the refusal
    Response tombstone_;
    std::string snapshot_;
    std::string transaction_;  ///< `hooked`: the coordinator's id
    std::exception_ptr failure_;
    std::optional<Error> error_;
    std::optional<Renewer::Slot> lease_;
    std::uint64_t other_version_ = 0;  ///< of the attempt that is waited for
    RecordStatus ended_as_ = RecordStatus::processing;
    std::optional<RecordStatus> recorded_;

    std::optional<CallerQuota::Caller> caller_;  ///< where there is a quota
    std::chrono::milliseconds quota_wait_{0};
    bool key_counted_ = false;
    bool key_taken_ = false;  ///< of the caller's quota, until it is known whether the key is new
    bool keyed_ = true;
    bool handler_ran_ = false;
    bool in_attempt_ = false;
    bool counted_ = false;  ///< in Services::calls
    bool leads_ = false;    ///< a flight
    bool left_ = false;     ///< the blocking caller has its answer
    bool lent_ = false;     ///< a stuck driver may hold views of our parts
    bool too_large_ = false;
    bool told_gone_ = false;
    std::uint8_t rehashed_ = 0;
    observe::Would would_ = observe::Would::run;
    std::atomic<bool> gone_{false};
    std::atomic<bool> waits_for_change_{
        false};  ///< the machine waits for another's attempt: the caller's leaving ends that

    // ---- waiting
    std::atomic<std::uint32_t> signal_{0};  ///< odd: a wait is open; what a blocking caller sleeps on
    std::mutex wait_mutex_;                 ///< of the two below
    Timers::Id timer_{};
    std::optional<ChangeWatch::Ticket> watching_;
    std::shared_ptr<const Shared> shared_;  ///< from the leader
    std::optional<Response> later_response_;
    std::exception_ptr later_failure_;
    std::optional<Answer> answer_;  ///< blocking: until `take_answer`
    std::optional<std::stop_callback<std::function<void()>>> on_caller_gone_;
};

}  // namespace nebis::runtime
