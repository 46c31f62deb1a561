// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/memory.hpp"
#include "runtime/row_rules.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace nebis::memory {

/// The rows, spread over shards by the hash of their key; a shard's mutex is what makes read-decide-write one step.
class Table {
public:
    explicit Table(std::function<StoreMillis()> clock) : clock_(std::move(clock)) {}

    Result<BeginOutcome> begin(const BeginRequest& request);
    Result<FinishOutcome> finish(const FinishRequest& request);
    Result<RenewOutcome> renew(const RenewRequest& request);
    Result<FindOutcome> find(const FindRequest& request);
    Result<std::vector<Record>> recover(const RecoverRequest& request);
    std::size_t clean(const CleanRequest& request);
    bool purge(std::string_view trace_id, std::uint64_t version);
    std::string key_rule(std::string_view operation, std::string_view digest, bool accept);

    runtime::StoreTime now() const;
    bool wait_for_change(Deadline deadline);

private:
    /// Most rows of a shard have the same one.
    struct Origin {
        std::string operation;
        std::string instance;
    };
    /// What few rows have.
    struct Extras {
        std::string request_body;
        std::string outcome_ref;
    };
    struct Row {
        std::string trace_id;
        runtime::RowHead head;
        StoreMillis create_time = 0;
        std::shared_ptr<const Origin> origin;
        std::string response;  ///< encoded: one block of memory, not one for each part; empty: none
        std::unique_ptr<Extras> extras;
    };
    /// Hashed once: growing the table then touches no row.
    struct Key {
        explicit Key(std::string_view key) : hash(std::hash<std::string_view>{}(key)), text(key) {}
        std::size_t hash;
        std::string_view text;
    };
    /// A row's place. Small, because with many rows the cost of a step is its cache misses.
    struct Place {
        std::size_t hash;
        std::unique_ptr<Row> row;
    };
    struct Hash {
        using is_avalanching = void;
        using is_transparent = void;
        std::size_t operator()(const Key& key) const noexcept { return key.hash; }
        std::size_t operator()(const Place& place) const noexcept { return place.hash; }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const Place& a, const Place& b) const noexcept {
            return a.hash == b.hash && a.row->trace_id == b.row->trace_id;
        }
        bool operator()(const Key& a, const Place& b) const noexcept {
            return a.hash == b.hash && a.text == b.row->trace_id;
        }
        bool operator()(const Place& a, const Key& b) const noexcept { return (*this)(b, a); }
    };
    using Rows = boost::unordered_flat_set<Place, Hash, Equal>;
    struct alignas(64) Shard {
        std::mutex mutex;
        Rows rows;
        std::uint64_t version_floor = 0;  ///< greatest version ever deleted here
        std::shared_ptr<const Origin> last_origin;

        const std::shared_ptr<const Origin>& origin_of(const BeginRequest& request);
    };
    static constexpr std::size_t shard_count = 256;

    Shard& shard_of(const Key& key) noexcept;
    static Result<Record> record_of(const Row& row, StoreMillis now);
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
