// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace nebis::observe {

struct Metrics::State {
    std::string version;
    std::string instance_name;
    InstanceMetrics instance;
    mutable std::mutex mutex;  // guards the maps, not what is in them
    std::map<std::string, std::unique_ptr<OperationMetrics>, std::less<>> operations;
    std::map<std::string, std::unique_ptr<StoreMetrics>, std::less<>> stores;
};

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using State = Metrics::State;

template <class E>
using Words = std::array<std::string_view, static_cast<std::size_t>(E::count_)>;

constexpr Words<RequestOutcome> outcome_words{"fresh",     "replayed",   "in_progress", "mismatch", "outcome_unknown",
                                              "duplicate", "fenced_off", "unavailable", "refused",  "unprotected"};
constexpr Words<HandlerResult> handler_words{"success", "rejected", "fail", "unknown"};
constexpr Words<ConflictState> state_words{"processing", "success", "fail", "rejected", "unknown", "marked"};
constexpr Words<RecoveredTo> recovered_words{"unknown", "retry"};
constexpr Words<Resolved> resolved_words{"applied", "not_applied", "unresolved"};
constexpr Words<Renewal> renewal_words{"renewed", "locked", "lost", "failed"};
constexpr Words<CacheResult> cache_words{"hit", "miss", "stale_version", "other_request", "unreadable"};
constexpr Words<Would> would_words{
    "run", "replay", "refuse_in_progress", "refuse_mismatch", "refuse_unknown", "refuse_duplicate", "refuse_key"};
constexpr Words<QuotaDecision> quota_words{"counted", "known", "refused"};
constexpr Words<FilterDecision> filter_words{"skipped", "asked"};
constexpr Words<StoreOp> op_words{"begin", "finish", "renew", "find", "recover", "clean", "enter", "leave", "other"};
constexpr Words<StoreResult> result_words{"ok", "unavailable", "maybe_applied", "failed"};
constexpr Words<Part> part_words{"request", "response"};

static_assert(static_cast<int>(RequestOutcome::fresh) == static_cast<int>(Outcome::fresh) &&
              static_cast<int>(RequestOutcome::fenced_off) == static_cast<int>(Outcome::fenced_off) &&
              static_cast<int>(RequestOutcome::refused) == static_cast<int>(Outcome::refused));
static_assert(static_cast<int>(ConflictState::fail) == static_cast<int>(RecordStatus::fail) &&
              static_cast<int>(ConflictState::marked) == static_cast<int>(RecordStatus::marked));

// ---- samples

using LabelList = std::vector<ClientMetric::Label>;

LabelList with(LabelList labels, std::string name, std::string_view value) {
    labels.push_back({std::move(name), std::string(value)});
    return labels;
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

void sample(MetricFamily& family, LabelList labels, double value) {
    auto& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    if (family.type == MetricType::Counter) {
        metric.counter.value = value;
    } else {
        metric.gauge.value = value;
    }
}
void sample(MetricFamily& family, LabelList labels, const Counter& counter) {
    sample(family, std::move(labels), static_cast<double>(counter.value()));
}
void sample(MetricFamily& family, LabelList labels, const WideCounter& counter) {
    sample(family, std::move(labels), static_cast<double>(counter.value()));
}
void sample(MetricFamily& family, LabelList labels, const Gauge& gauge) {
    sample(family, std::move(labels), static_cast<double>(gauge.value()));
}

void sample(MetricFamily& family, LabelList labels, const Histogram& histogram) {
    auto& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < Histogram::bounds.size(); ++i) {
        count += histogram.bucket(i);
        metric.histogram.bucket.push_back({count, seconds(Histogram::bounds[i])});
    }
    count += histogram.bucket(Histogram::bounds.size());
    metric.histogram.bucket.push_back({count, std::numeric_limits<double>::infinity()});
    // From the same reads as the buckets, so that a scrape under load is consistent in itself.
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = seconds(histogram.sum().count());
}

template <class E, class Instrument>
void sample_by(MetricFamily& family, const LabelList& labels, const std::string& label, const Words<E>& words,
               const By<E, Instrument>& all) {
    for (std::size_t i = 0; i < words.size(); ++i)
        sample(family, with(labels, label, words[i]), all[static_cast<E>(i)]);
}

template <class Get>
auto per_operation(Get get) {
    return [get](const State& state, MetricFamily& family) {
        for (const auto& [name, metrics] : state.operations) get(family, LabelList{{"operation", name}}, *metrics);
    };
}

template <class Get>
auto per_store(Get get) {
    return [get](const State& state, MetricFamily& family) {
        for (const auto& [name, metrics] : state.stores) get(family, LabelList{{"store", name}}, *metrics);
    };
}

template <class Field>
auto operation_field(Field OperationMetrics::*field) {
    return per_operation([field](MetricFamily& family, LabelList labels, const OperationMetrics& m) {
        sample(family, std::move(labels), m.*field);
    });
}

template <class E, class Instrument>
auto operation_field(By<E, Instrument> OperationMetrics::*field, std::string label, const Words<E>& words) {
    return per_operation([field, label = std::move(label), &words](MetricFamily& family, const LabelList& labels,
                                                                   const OperationMetrics& m) {
        sample_by(family, labels, label, words, m.*field);
    });
}

template <class Field>
auto store_field(Field StoreMetrics::*field) {
    return per_store([field](MetricFamily& family, LabelList labels, const StoreMetrics& m) {
        sample(family, std::move(labels), m.*field);
    });
}

// ---- the table

struct Row {
    MetricRow shown;
    MetricType type;
    std::function<void(const State&, MetricFamily&)> collect;
};

Row counter(std::string_view name, std::string_view labels, std::string_view help,
            std::function<void(const State&, MetricFamily&)> collect) {
    return {{name, "counter", labels, help}, MetricType::Counter, std::move(collect)};
}
Row gauge(std::string_view name, std::string_view labels, std::string_view help,
          std::function<void(const State&, MetricFamily&)> collect) {
    return {{name, "gauge", labels, help}, MetricType::Gauge, std::move(collect)};
}
Row histogram(std::string_view name, std::string_view labels, std::string_view help,
              std::function<void(const State&, MetricFamily&)> collect) {
    return {{name, "histogram", labels, help}, MetricType::Histogram, std::move(collect)};
}

std::vector<Row> operation_rows() {
    using O = OperationMetrics;
    return {
        counter("nebis_requests_total", "operation, outcome", "Requests answered.",
                operation_field(&O::requests, "outcome", outcome_words)),
        histogram("nebis_request_duration_seconds", "operation, outcome",
                  "Time spent in Nebis itself, without the handler and without waiting for another attempt; answers "
                  "from memory are not timed.",
                  operation_field(&O::request_duration, "outcome", outcome_words)),
        histogram("nebis_handler_duration_seconds", "operation, result",
                  "Time spent in the handler; p99 x 3 is a good lease.",
                  operation_field(&O::handler_duration, "result", handler_words)),
        counter("nebis_joined_total", "operation",
                "Duplicates answered by an attempt of the same process, without any I/O.", operation_field(&O::joined)),
        counter("nebis_record_inserts_total", "operation", "Records inserted: keys seen for the first time.",
                operation_field(&O::inserts)),
        counter(
            "nebis_record_conflicts_total", "operation, state",
            "Begins that met a record, by its state. A jump, or a fall to nothing, means that the key rule is wrong.",
            operation_field(&O::conflicts, "state", state_words)),
        counter("nebis_recoveries_total", "operation, to",
                "Records whose owner was gone. A climb means that the lease is too short or instances die.",
                operation_field(&O::recoveries, "to", recovered_words)),
        counter("nebis_takeovers_total", "operation", "Attempts that took over a record from an earlier attempt.",
                operation_field(&O::takeovers)),
        counter("nebis_fenced_off_total", "operation",
                "Attempts that came to finish and found that another had taken over; their result was not recorded.",
                operation_field(&O::fenced_off)),
        counter("nebis_finish_failures_total", "operation",
                "Results that could not be recorded at once; the caller had the true answer.",
                operation_field(&O::finish_failures)),
        counter("nebis_give_backs_total", "operation", "Claims given back because the handler never started.",
                operation_field(&O::give_backs)),
        counter("nebis_fail_open_total", "operation", "Requests that went on without the lock service.",
                operation_field(&O::fail_open)),
        counter("nebis_tombstones_total", "operation", "Answers too large to keep.", operation_field(&O::tombstones)),
        counter(
            "nebis_damaged_records_total", "operation",
            "Requests that met a record which can't be trusted: refused, and never executed. An operator must look.",
            operation_field(&O::damaged)),
        counter("nebis_keyless_total", "operation",
                "Requests without a key that ran unprotected (key-required: false).", operation_field(&O::keyless)),
        counter("nebis_observed_total", "operation, would", "Observe mode: what enforcement would have done.",
                operation_field(&O::observed, "would", would_words)),
        counter("nebis_quota_total", "operation, decision",
                "Quota on new keys: counted; let through because the key was known; refused with 429.",
                operation_field(&O::quota, "decision", quota_words)),
        counter("nebis_flood_filter_total", "operation, decision",
                "Filter in front of the lock service: keys not met before, which skipped it; keys that may have been "
                "met, which asked it.",
                operation_field(&O::filter, "decision", filter_words)),
        counter("nebis_stored_bytes_total", "operation, part", "Bytes of snapshots written to records.",
                operation_field(&O::stored_bytes, "part", part_words)),
        gauge("nebis_waiting_duplicates", "operation", "Duplicates waiting in this process for another attempt.",
              operation_field(&O::waiting)),
        gauge("nebis_attempts_in_flight", "operation", "Handlers under way in this process.",
              operation_field(&O::in_flight)),
    };
}

std::vector<Row> store_rows() {
    using S = StoreMetrics;
    return {
        histogram("nebis_store_op_duration_seconds", "store, op, result",
                  "Round trips to a store or lock service; one carries a batch.",
                  per_store([](MetricFamily& family, const LabelList& labels, const StoreMetrics& m) {
                      for (std::size_t i = 0; i < op_words.size(); ++i) {
                          sample_by(family, with(labels, "op", op_words[i]), "result", result_words,
                                    m.ops[static_cast<StoreOp>(i)]);
                      }
                  })),
        counter("nebis_store_batched_requests_total", "store, op", "Requests carried by those round trips.",
                per_store([](MetricFamily& family, const LabelList& labels, const StoreMetrics& m) {
                    sample_by(family, labels, "op", op_words, m.batched);
                })),
        counter("nebis_ambiguous_writes_total", "store, resolved",
                "Writes whose reply was lost, by how reading back resolved them.",
                per_store([](MetricFamily& family, const LabelList& labels, const StoreMetrics& m) {
                    sample_by(family, labels, "resolved", resolved_words, m.ambiguous);
                })),
        counter("nebis_overloaded_total", "store", "Requests refused because the queue was full.",
                store_field(&S::overloaded)),
        gauge("nebis_queue_depth", "store", "Requests waiting for a batch.", store_field(&S::queue_depth)),
        gauge("nebis_pool_connections", "store, state", "Connections by state.",
              per_store([](MetricFamily& family, const LabelList& labels, const StoreMetrics& m) {
                  const auto busy = m.sessions_busy.value();
                  sample(family, with(labels, "state", "busy"), static_cast<double>(busy));
                  sample(family, with(labels, "state", "idle"),
                         static_cast<double>(std::max<std::int64_t>(0, m.sessions_open.value() - busy)));
              })),
        gauge("nebis_breaker_state", "store", "Circuit breaker: 0 closed, 1 half open, 2 open.",
              store_field(&S::breaker)),
        counter("nebis_cleanup_deleted_total", "store", "Expired records deleted.", store_field(&S::cleaned)),
        gauge("nebis_clock_skew_seconds", "store", "This machine's clock minus the store's.",
              per_store([](MetricFamily& family, LabelList labels, const StoreMetrics& m) {
                  sample(family, std::move(labels), static_cast<double>(m.clock_skew_millis.value()) / 1e3);
              })),
    };
}

std::vector<Row> instance_rows() {
    return {
        counter("nebis_lease_renewals_total", "result",
                "Lease renewals; locked means that a transaction of the owner holds the row.",
                [](const State& state, MetricFamily& family) {
                    sample_by(family, {}, "result", renewal_words, state.instance.renewals);
                }),
        histogram("nebis_lease_margin_seconds", "", "What was left of a lease when it was renewed.",
                  [](const State& state, MetricFamily& family) { sample(family, {}, state.instance.lease_margin); }),
        counter("nebis_result_cache_total", "cache, result",
                "Look-ups of finished results, in this process and in the lock service.",
                [](const State& state, MetricFamily& family) {
                    sample_by(family, {{"cache", "local"}}, "result", cache_words, state.instance.local_cache);
                    sample_by(family, {{"cache", "gate"}}, "result", cache_words, state.instance.gate_cache);
                }),
        counter("nebis_log_dropped_total", "", "Log lines dropped because the log could not keep up.",
                [](const State& state, MetricFamily& family) { sample(family, {}, state.instance.log_dropped); }),
        gauge("nebis_build_info", "version, instance", "Always 1.",
              [](const State& state, MetricFamily& family) {
                  sample(family, {{"version", state.version}, {"instance", state.instance_name}}, 1.0);
              }),
    };
}

const std::vector<Row>& rows() {
    static const std::vector<Row> all = [] {
        std::vector<Row> joined;
        for (auto part : {operation_rows(), store_rows(), instance_rows()})
            joined.insert(joined.end(), part.begin(), part.end());
        return joined;
    }();
    return all;
}

template <class Map>
auto& find_or_make(std::mutex& mutex, Map& map, std::string_view name) {
    const std::lock_guard lock(mutex);
    const auto found = map.find(name);
    if (found != map.end()) return *found->second;
    return *map.emplace(std::string(name), std::make_unique<typename Map::mapped_type::element_type>()).first->second;
}

}  // namespace

std::span<const MetricRow> metric_table() {
    static const std::vector<MetricRow> shown = [] {
        std::vector<MetricRow> out;
        for (const auto& row : rows()) out.push_back(row.shown);
        return out;
    }();
    return shown;
}

Metrics::Metrics(std::string version, std::string instance) : state_(std::make_unique<State>()) {
    state_->version = std::move(version);
    state_->instance_name = std::move(instance);
}
Metrics::~Metrics() = default;

OperationMetrics& Metrics::operation(std::string_view name) {
    return find_or_make(state_->mutex, state_->operations, name);
}
StoreMetrics& Metrics::store(std::string_view name) { return find_or_make(state_->mutex, state_->stores, name); }
InstanceMetrics& Metrics::instance() noexcept { return state_->instance; }

std::string Metrics::text() const {
    std::vector<MetricFamily> families;
    {
        const std::lock_guard lock(state_->mutex);
        for (const auto& row : rows()) {
            MetricFamily family{std::string(row.shown.name), std::string(row.shown.help), row.type, {}};
            row.collect(*state_, family);
            families.push_back(std::move(family));
        }
    }
    return prometheus::TextSerializer().Serialize(families);
}

}  // namespace nebis::observe
