// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/store.hpp"
#include "observe/instruments.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// What Nebis counts about itself (S39). Names, labels and help: the one table in metrics.cpp.
namespace nebis::observe {

/// Label `outcome`: those of `Outcome` in the same order, and `unprotected` for requests that ran without protection.
enum class RequestOutcome : std::uint8_t {
    fresh,
    replayed,
    in_progress,
    mismatch,
    outcome_unknown,
    duplicate,
    fenced_off,
    unavailable,
    refused,
    unprotected,
    count_,
};
/// Label `result` of handlers: what the attempt's end says about the effect.
enum class HandlerResult : std::uint8_t { success, rejected, fail, unknown, count_ };
/// Label `state`: the record that a begin met. In the order of RecordStatus.
enum class ConflictState : std::uint8_t { processing, success, fail, rejected, unknown, marked, count_ };
/// Label `to`: what became of a record whose owner was gone.
enum class RecoveredTo : std::uint8_t { unknown, retry, count_ };
/// Label `resolved`: how a write whose reply was lost turned out.
enum class Resolved : std::uint8_t { applied, not_applied, unresolved, count_ };
enum class Renewal : std::uint8_t { renewed, locked, lost, failed, count_ };
enum class CacheResult : std::uint8_t { hit, miss, stale_version, other_request, unreadable, count_ };
/// Label `would` of observe mode: what enforcement would have done.
enum class Would : std::uint8_t {
    run,
    replay,
    refuse_in_progress,
    refuse_mismatch,
    refuse_unknown,
    refuse_duplicate,
    refuse_key,
    count_
};
/// Label `decision` of the quota on new keys: counted, spared because the key was known, refused.
enum class QuotaDecision : std::uint8_t { counted, known, refused, count_ };
/// Label `decision` of the filter in front of the lock service.
enum class FilterDecision : std::uint8_t { skipped, asked, count_ };
enum class StoreOp : std::uint8_t { begin, finish, renew, find, recover, clean, enter, leave, other, count_ };
enum class StoreResult : std::uint8_t { ok, unavailable, maybe_applied, failed, count_ };
enum class BreakerState : std::uint8_t { closed, half_open, open };
enum class Part : std::uint8_t { request, response, count_ };

/// Everything counted for one operation. Keep a reference: it lives as long as its Metrics.
struct OperationMetrics {
    By<RequestOutcome, WideCounter> requests;
    By<RequestOutcome, Histogram>
        request_duration;  ///< in Nebis itself, handler and waiting for another attempt not counted
    By<HandlerResult, Histogram> handler_duration;
    WideCounter joined;  ///< duplicates answered by this process without any I/O
    Counter inserts;
    By<ConflictState> conflicts;
    By<RecoveredTo> recoveries;
    Counter takeovers;
    Counter fenced_off;
    Counter finish_failures;
    Counter give_backs;
    Counter fail_open;
    Counter tombstones;
    Counter damaged;
    Counter keyless;  ///< `key-required: false`: ran without a key
    By<Would> observed;
    By<QuotaDecision> quota;
    By<FilterDecision, WideCounter> filter;
    By<Part> stored_bytes;
    Gauge waiting;
    Gauge in_flight;

    /// Count one answered request. The duration is optional: leave it out where reading the clock would cost more than
    /// the answer.
    void answered(const Answer& answer) noexcept { requests[outcome_of(answer)].add(); }
    void answered(const Answer& answer, Histogram::Nanoseconds duration) noexcept {
        const auto outcome = outcome_of(answer);
        requests[outcome].add();
        request_duration[outcome].observe(duration);
    }
    static RequestOutcome outcome_of(const Answer& answer) noexcept {
        return answer.unprotected ? RequestOutcome::unprotected : static_cast<RequestOutcome>(answer.outcome);
    }
};

/// Everything counted for one store or lock service.
struct StoreMetrics {
    By<StoreOp, By<StoreResult, Histogram>> ops;
    By<StoreOp> batched;  ///< requests carried; divided by the number of ops: the batch size
    By<Resolved> ambiguous;
    Gauge queue_depth;
    Gauge sessions_open;
    Gauge sessions_busy;
    Counter overloaded;  ///< refused because the queue was full
    Gauge breaker;       ///< a BreakerState
    Counter cleaned;
    Gauge clock_skew_millis;  ///< this machine's clock minus the store's
};

/// What belongs to the instance as a whole.
struct InstanceMetrics {
    By<Renewal> renewals;
    Histogram lease_margin;  ///< how much of a lease was left when it was renewed
    By<CacheResult> local_cache;
    By<CacheResult> gate_cache;
    Counter log_dropped;
};

/// One row of the table of metrics.
struct MetricRow {
    std::string_view name;
    std::string_view type;    ///< counter, gauge, histogram
    std::string_view labels;  ///< "operation, outcome"
    std::string_view help;
};
std::span<const MetricRow> metric_table();

/// **Threads**: all members from any thread. **Lifetime**: references stay valid as long as the Metrics.
class Metrics {
public:
    explicit Metrics(std::string version = {}, std::string instance = {});
    ~Metrics();

    /// The counters of an operation, made when first asked for, all at 0 so that "fell to zero" can be seen from the
    /// first scrape. Takes a mutex: ask once and keep the reference.
    OperationMetrics& operation(std::string_view name);
    /// The counters of a store or lock service, by data source name ("primary", "lock").
    StoreMetrics& store(std::string_view name);
    InstanceMetrics& instance() noexcept;

    /// Prometheus text format.
    std::string text() const;

    struct State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace nebis::observe
