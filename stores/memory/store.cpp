// SPDX-License-Identifier: Apache-2.0
#include "nebis/memory.hpp"
#include "table.hpp"

#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace nebis::memory {
namespace {

Error out_of_memory() { return {ErrorKind::unavailable, "out of memory"}; }

template <class Requests, class Outcomes, class Step>
void each(Requests in, Outcomes out, Step step) {
    for (std::size_t i = 0; i < in.size(); ++i) {
        try {
            out[i] = step(in[i]);
        } catch (const std::bad_alloc&) {
            out[i] = out_of_memory();
        }
    }
}

class Session final : public StoreSession {
public:
    explicit Session(std::shared_ptr<Table> table) : table_(std::move(table)) {}

    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline) override {
        each(in, out, [this](const BeginRequest& request) { return table_->begin(request); });
    }
    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline) override {
        each(in, out, [this](const FinishRequest& request) { return table_->finish(request); });
    }
    void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline) override {
        each(in, out, [this](const RenewRequest& request) { return table_->renew(request); });
    }
    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline) override {
        each(in, out, [this](const FindRequest& request) { return table_->find(request); });
    }
    Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline) override {
        return guarded<std::vector<Record>>([&] { return table_->recover(request); });
    }
    Result<std::size_t> clean(const CleanRequest& request, Deadline) override { return table_->clean(request); }
    Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline) override {
        return table_->purge(trace_id, version);
    }
    Result<StoreMillis> now(Deadline) override { return table_->now().millis; }
    Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept, Deadline) override {
        return guarded<std::string>([&] { return table_->key_rule(operation, digest, accept); });
    }

private:
    template <class T, class Step>
    static Result<T> guarded(Step step) {
        try {
            return step();
        } catch (const std::bad_alloc&) {
            return out_of_memory();
        }
    }
    std::shared_ptr<Table> table_;
};

class MemoryStore final : public Store {
public:
    explicit MemoryStore(Options options) : table_(std::make_shared<Table>(std::move(options.clock))) {}

    std::string_view name() const noexcept override { return "memory"; }
    StoreTraits traits() const noexcept override {
        StoreTraits traits;
        traits.max_sessions = 8;
        traits.one_commit_for_begin_and_finish = true;  // there are no commits to save
        traits.durable = false;
        traits.shared = false;
        traits.in_process = true;
        return traits;
    }
    Result<void> verify(Deadline) override { return {}; }
    Result<void> create_schema(Deadline) override { return {}; }
    Result<std::unique_ptr<StoreSession>> open(Deadline) override {
        return std::unique_ptr<StoreSession>(std::make_unique<Session>(table_));
    }
    bool wait_for_change(Deadline deadline) override { return table_->wait_for_change(deadline); }

private:
    std::shared_ptr<Table> table_;
};

}  // namespace

std::shared_ptr<Store> store(Options options) { return std::make_shared<MemoryStore>(std::move(options)); }

void add_to(Drivers& drivers) {
    struct Known {
        std::mutex mutex;
        std::map<std::pair<std::string, std::string>, std::shared_ptr<Store>> stores;
    };
    drivers.stores["memory"] =
        [known = std::make_shared<Known>()](const DriverSettings& settings) -> Result<std::shared_ptr<Store>> {
        const std::lock_guard lock(known->mutex);
        auto& store = known->stores[{settings.data_source, settings.table}];
        if (!store) store = memory::store();
        return store;
    };
}

}  // namespace nebis::memory
