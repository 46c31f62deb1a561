// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/execution.hpp"
#include "nebis/extend.hpp"
#include "runtime/execution_state.hpp"
#include "support/eventually.hpp"
#include "support/record_table.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

/// What the tests of `atomic` share, whatever the database: a record table and a runner.
namespace nebis::test {

inline std::string code_of(const AtomicReport& report) { return report.error ? report.error->code() : std::string(); }

/// As a handler would hold it.
inline Execution attempt_at(std::string_view key, std::uint64_t version, std::uint64_t owner = 1) {
    auto state = std::make_shared<runtime::ExecutionState>();
    state->trace_id = key;
    state->version = version;
    state->owner = owner_of(owner);
    return Execution(state);
}

class RunnerBench {
public:
    RunnerBench(const RecordTable& table, std::shared_ptr<TransactionRunner> runner)
        : records_(table), runner_(std::move(runner)) {}

    TransactionRunner& runner() const { return *runner_; }

    std::uint64_t acquire(std::string_view key, std::uint64_t owner = 1) const {
        const auto begun = records_.begin(key, owner);
        if (!begun || begun->kind != BeginOutcome::Kind::acquired) throw std::runtime_error("not acquired");
        return begun->version;
    }
    AtomicClaim before(std::string_view key, std::uint64_t version, std::uint64_t owner = 1) const {
        AtomicClaim claim;
        claim.version = version;
        claim.owner = owner_of(owner);
        claim.trace_id = key;
        claim.retention_millis = 3'600'000;
        claim.store = &records_.store();
        return claim;
    }
    AtomicClaim inside(std::string_view key, std::uint64_t owner = 1) const {
        AtomicClaim claim = before(key, 0, owner);
        claim.inside = true;
        claim.begin = begin_of(key, owner);
        return claim;
    }
    AtomicReport run(const AtomicClaim& claim, const TransactionRunner::Body& body, Deadline deadline = soon()) const {
        Execution execution(std::make_shared<runtime::ExecutionState>());
        return runner_->run(claim, execution, body, deadline);
    }

    /// Waits for a server that starts.
    Record row(std::string_view key) const {
        auto found = found_of(key);
        if (!found.record) throw std::runtime_error("no such row");
        return *std::move(found.record);
    }
    bool there(std::string_view key) const { return found_of(key).record.has_value(); }

private:
    FindOutcome found_of(std::string_view key) const {
        Result<FindOutcome> found = FindOutcome{};
        if (!eventually([&] { return (found = records_.find(key)).has_value(); }))
            throw std::runtime_error("no server");
        return *std::move(found);
    }

    const RecordTable& records_;
    std::shared_ptr<TransactionRunner> runner_;
};

/// Calls until a server that starts has answered.
template <class Ask>
auto when_up(Ask ask) {
    decltype(ask()) answer{};
    const bool up = eventually([&] {
        try {
            answer = ask();
            return true;
        } catch (const std::runtime_error&) {
            return false;
        }
    });
    if (!up) throw std::runtime_error("no server");
    return answer;
}

}  // namespace nebis::test
