// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/error.hpp"
#include "nebis/execution.hpp"
#include "nebis/extend.hpp"
#include "nebis/policy.hpp"
#include "nebis/request.hpp"
#include "nebis/standard.hpp"
#include "nebis/store.hpp"
#include "nebis/token.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nebis {

namespace runtime {
class Core;
class OperationState;
struct CompletionState;
}  // namespace runtime

/// Where callbacks and handlers of the non-blocking shapes run. **Threads**: `post` may be called from any thread and
/// must not run the task before it returns unless the executor is `inline_executor()`.
class Executor {
public:
    virtual ~Executor() = default;
    virtual void post(std::function<void()> task) = 0;
};

/// Runs each task at once on the posting thread (a Nebis worker thread): for handlers that never block.
Executor& inline_executor() noexcept;

/// The reply slot of a handler that answers later. Exactly one of `answer` and `fail` counts; the first wins. A
/// Completion whose last copy goes away unanswered is an abandoned attempt: the record becomes UNKNOWN. **Threads**:
/// any.
class Completion {
public:
    explicit Completion(std::shared_ptr<runtime::CompletionState> state) : state_(std::move(state)) {}
    void answer(Response response) const;
    void fail(std::exception_ptr failure) const;

private:
    std::shared_ptr<runtime::CompletionState> state_;
};

/// What runs once. Three kinds; each throws (or fails) to say what it knows, see error.hpp.
class Handler {
public:
    using Blocking = std::function<Response(const Request&, Execution&)>;
    using Later = std::function<void(const Request&, Execution, Completion)>;
    using InTransaction = std::function<Response(const Request&, void* transaction, Execution&)>;

    Handler(Blocking run) : blocking_(std::move(run)) {}  // NOLINT: implicit on purpose
    static Handler later(Later run) {
        Handler handler{Blocking{}};
        handler.later_ = std::move(run);
        return handler;
    }
    static Handler atomic(std::shared_ptr<TransactionRunner> runner, InTransaction run) {
        Handler handler{Blocking{}};
        handler.runner_ = std::move(runner);
        handler.in_transaction_ = std::move(run);
        return handler;
    }

    const Blocking& blocking() const noexcept { return blocking_; }
    const Later& later() const noexcept { return later_; }
    const InTransaction& in_transaction() const noexcept { return in_transaction_; }
    const std::shared_ptr<TransactionRunner>& runner() const noexcept { return runner_; }

private:
    Blocking blocking_;
    Later later_;
    InTransaction in_transaction_;
    std::shared_ptr<TransactionRunner> runner_;
};

/// A registered operation: its policy resolved against the configuration. A cheap handle. **Lifetime**: valid as long
/// as its engine.
class Operation {
public:
    Operation() = default;
    explicit Operation(std::shared_ptr<runtime::OperationState> state) : state_(std::move(state)) {}
    explicit operator bool() const noexcept { return state_ != nullptr; }
    const std::string& name() const noexcept;
    OnDuplicate on_duplicate() const noexcept;
    Mode mode() const noexcept;
    bool has_response_producer() const noexcept;
    std::chrono::milliseconds retention() const noexcept;
    std::size_t max_request_bytes() const noexcept;
    std::size_t max_response_bytes() const noexcept;
    /// The header the key comes from, empty when it doesn't come from a header; for adapters' messages.
    std::string_view key_header() const noexcept;
    /// Advice found when the key rule was checked (S4): time- or random-looking fields in it.
    const std::vector<std::string>& warnings() const noexcept;
    const std::shared_ptr<runtime::OperationState>& state() const noexcept { return state_; }

private:
    std::shared_ptr<runtime::OperationState> state_;
};

/// How an engine is opened.
struct OpenOptions {
    std::vector<std::string> sets;  ///< `a.b=c`, as `--set` gives them; win over the environment and the file
    bool use_environment = true;    ///< read NEBIS__… variables
    /// False: no background thread renews, recovers or cleans; the program calls `tick()` often (tests, programs with
    /// their own loop).
    bool background = true;
};

/// What a transport says about a call of the callback shape.
struct AsyncOptions {
    /// Where `done` runs; null: where the handler runs. With `inline_executor()` a duplicate that this process can
    /// answer is answered before `run_async` returns, on the calling thread, while handlers still go to their pool.
    Executor* answers = nullptr;
    /// Fires when the caller has left. A waiting duplicate then stops waiting and gets `in_progress`; an attempt runs
    /// on (C25).
    std::stop_token caller_gone = {};
};

/// One batch item's request for `Engine::run_batch`.
struct BatchItem {
    Request request;
};

/// The engine: makes operations idempotent. A cheap, copyable handle on shared state.
///
/// **Threads**: all members from any thread. **Lifetime**: the last handle's destructor drains for a bounded time
/// (`drain.timeout`), then leaves unfinished attempts to their lease.
class Engine {
public:
    /// What an engine is made of when it is built by hand: configuration text (may be empty) and named parts.
    struct Parts {
        std::shared_ptr<Store> store = {};  ///< for operations that name no data source of their own
        std::shared_ptr<Gate> gate = {};    ///< null: no gate, the store alone
        Drivers drivers = {};               ///< extension points by name; further stores by data source
        std::string configuration = {};     ///< YAML text, same keys as the file
        OpenOptions options = {};
        std::function<void(const std::string& line)> log = {};  ///< one JSON line per event; default: stderr
    };

    /// From a configuration file with the standard drivers (S62). Defined in the starter library (link
    /// `Nebis::starter`).
    /// **Errors**: `misconfigured` with file:line:column for the configuration; with the step that helps for a missing
    /// dependency.
    static Result<Engine> open(const std::string& file, OpenOptions options = {});
    /// From a configuration file with these drivers.
    static Result<Engine> open(const std::string& file, Drivers drivers, OpenOptions options = {});
    /// By hand.
    static Result<Engine> make(Parts parts);

    /// Register an operation, or get the one registered before under the same name (its policy must then be equal in
    /// the key rule).
    /// **Errors**: `misconfigured` for a contradictory policy, an unknown extension name, a key rule that doesn't parse
    /// (with its place), or one that differs from what the fleet agreed on (S64).
    Result<Operation> operation(const Policy& policy) const;

    /// Blocking shape: at most one handler run for each key counts; the caller waits for its own attempt, or for
    /// another's as the policy says.
    /// **Time**: budget + wait + the handler's own. **Errors**: inside Answer; never throws.
    Answer run(const Operation& operation, const Request& request, const Handler& handler) const;

    /// Callback shape: returns at once. The handler and `done` run on `executor`. `done` is called exactly once.
    void run_async(const Operation& operation, Request request, Handler handler, Executor& executor,
                   std::function<void(Answer)> done) const;
    /// The same for transports: `done` on an executor of its own, and a caller that may leave. See AsyncOptions.
    void run_async(const Operation& operation, Request request, Handler handler, Executor& executor,
                   AsyncOptions options, std::function<void(Answer)> done) const;

    /// S49: many keys begun and finished together, an answer for each, in order. Equal keys inside a batch run once;
    /// the others replay.
    std::vector<Answer> run_batch(
        const Operation& operation, std::span<const BatchItem> items,
        const std::function<Response(std::size_t index, const Request&, Execution&)>& handler) const;

    /// S5: a new one-time token bound to operation and caller. **Errors**: `misconfigured` when no token keys are set.
    Result<std::string> create_token(const Operation& operation, std::string_view principal = {},
                                     std::string_view tenant = {}) const;

    /// An operator's word on an UNKNOWN record: look, then compare-and-set on (version, owner, UNKNOWN); false when it
    /// had moved on. The request identifies the record as it did when it ran. `reason` is kept in the audit log line.
    Result<bool> settle(const Operation& operation, const Request& request, const Resolution& resolution,
                        std::string_view reason) const;
    /// The record as it stands, for operators and tests.
    Result<std::optional<Record>> inspect(const Operation& operation, const Request& request) const;
    /// Remove a record in the operator's three steps (A gate, B row, C gate); false when there was none.
    Result<bool> purge(const Operation& operation, const Request& request, std::string_view reason) const;

    /// Renew leases and do what upkeep is due. For programs that run without the background thread. Returns when the
    /// next tick is due.
    std::chrono::milliseconds tick() const;
    /// One pass of recovery / of clean-up now, whatever the schedule; how many rows.
    Result<std::size_t> recover_now() const;
    Result<std::size_t> clean_now() const;

    /// Stop admitting (callers get `unavailable`), wait for what is running. True when all ended in time.
    bool drain(std::chrono::milliseconds timeout) const;

    /// Prometheus text.
    std::string metrics() const;
    /// Problems met at start that don't prevent it.
    std::vector<std::string> warnings() const;
    /// Text of a setting that transports need ("http.documentation-url"), empty when unset.
    std::string setting(std::string_view path) const;

    /// Wrap a callable: same arguments, same result, idempotent. See idempotent.hpp.
    template <class Names, class Fn>
    auto idempotent(Policy policy, Names names, Fn fn) const;

    explicit Engine(std::shared_ptr<runtime::Core> core) : core_(std::move(core)) {}  ///< for the runtime
    const std::shared_ptr<runtime::Core>& core() const noexcept { return core_; }

private:
    std::shared_ptr<runtime::Core> core_;
};

}  // namespace nebis

#include "nebis/idempotent.hpp"  // IWYU pragma: export
