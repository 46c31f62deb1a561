// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/memory.hpp"
#include "runtime/row_rules.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

namespace nebis::memory {

/// The rows, spread over shards by the hash of their key; a shard's mutex is what makes read-decide-write one step.
class Table {
public:
    explicit Table(std::function<StoreMillis()> clock) : clock_(std::move(clock)) {}

    Result<BeginOutcome> begin(const BeginRequest& request);
    Result<FinishOutcome> finish(const FinishRequest& request);
    Result<RenewOutcome> renew(const RenewRequest& request);
    Result<FindOutcome> find(const FindRequest& request);
    std::vector<Record> recover(const RecoverRequest& request);
    std::size_t clean(const CleanRequest& request);
    bool purge(std::string_view trace_id, std::uint64_t version);
    std::string key_rule(std::string_view operation, std::string_view digest, bool accept);

    runtime::StoreTime now() const;
    bool wait_for_change(Deadline deadline);

private:
    struct Row {
        runtime::RowHead head;
        StoreMillis create_time = 0;
        std::string operation;
        std::string instance;
        std::string request_body;
        std::optional<Response> response;
        std::string outcome_ref;
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
    };
    using Rows = std::unordered_map<std::string, Row, Hash, std::equal_to<>>;
    struct alignas(64) Shard {
        std::mutex mutex;
        Rows rows;
        std::uint64_t version_floor = 0;  ///< greatest version ever deleted here
    };
    static constexpr std::size_t shard_count = 256;

    Shard& shard_of(std::string_view trace_id) noexcept;
    static Record record_of(const std::string& trace_id, const Row& row, StoreMillis now);
    static Rows::iterator erase(Shard& shard, Rows::iterator at);
    void changed();

    const std::function<StoreMillis()> clock_;
    std::array<Shard, shard_count> shards_;
    std::atomic<std::size_t> next_to_clean_{0};

    std::mutex rules_mutex_;
    std::map<std::string, std::string, std::less<>> rules_;

    std::atomic<int> waiting_{0};
    std::atomic<std::uint64_t> changes_{0};
    std::uint64_t seen_ = 0;  ///< wait_for_change is called by one thread at a time
    std::mutex change_mutex_;
    std::condition_variable change_;
};

}  // namespace nebis::memory
