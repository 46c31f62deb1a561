// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/memory.hpp"
#include "nebis/testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <deque>

// A suite that acquits everybody proves nothing. Three stores that look right are convicted, each by the cases that
// name its fault.
namespace {

using nebis::BeginOutcome;
using nebis::BeginRequest;
using nebis::Deadline;
using nebis::FindOutcome;
using nebis::FindRequest;
using nebis::FinishOutcome;
using nebis::FinishRequest;
using nebis::Record;
using nebis::RenewOutcome;
using nebis::RenewRequest;
using nebis::Result;
using nebis::StoreMillis;
using nebis::StoreSession;
using ::testing::Contains;
using ::testing::IsEmpty;

/// Hands everything on; a wrong store overrides what it gets wrong.
class Passing : public StoreSession {
public:
    explicit Passing(std::unique_ptr<StoreSession> inner) : inner_(std::move(inner)) {}
    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline d) override {
        inner_->begin(in, out, d);
    }
    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline d) override {
        inner_->finish(in, out, d);
    }
    void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline d) override {
        inner_->renew(in, out, d);
    }
    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline d) override {
        inner_->find(in, out, d);
    }
    Result<std::vector<Record>> recover(const nebis::RecoverRequest& r, Deadline d) override {
        return inner_->recover(r, d);
    }
    Result<std::size_t> clean(const nebis::CleanRequest& r, Deadline d) override { return inner_->clean(r, d); }
    Result<bool> purge(std::string_view k, std::uint64_t v, Deadline d) override { return inner_->purge(k, v, d); }
    Result<StoreMillis> now(Deadline d) override { return inner_->now(d); }
    Result<std::string> key_rule(std::string_view o, std::string_view g, bool a, Deadline d) override {
        return inner_->key_rule(o, g, a, d);
    }

protected:
    std::unique_ptr<StoreSession> inner_;
};

/// Its finish compares trace_id, owner and status, but takes whatever version the row has.
class ForgetsTheVersion final : public Passing {
public:
    using Passing::Passing;
    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline d) override {
        for (std::size_t i = 0; i < in.size(); ++i) {
            FinishRequest request = in[i];
            const FindRequest find{request.trace_id};
            Result<FindOutcome> row = FindOutcome{};
            inner_->find({&find, 1}, {&row, 1}, d);
            if (row && row->record) request.version = row->record->version;
            inner_->finish({&request, 1}, out.subspan(i, 1), d);
        }
    }
};

/// A default MySQL column: no case, no trailing blanks.
class ComparesByCollation final : public Passing {
public:
    using Passing::Passing;
    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline d) override {
        std::deque<std::string> keys;
        std::vector<BeginRequest> folded(in.begin(), in.end());
        for (auto& request : folded) request.trace_id = keys.emplace_back(fold(request.trace_id));
        for (std::size_t i = 0; i < folded.size(); ++i) inner_->begin({&folded[i], 1}, out.subspan(i, 1), d);
    }
    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline d) override {
        for (std::size_t i = 0; i < in.size(); ++i) {
            FinishRequest request = in[i];
            const std::string key = fold(request.trace_id);
            request.trace_id = key;
            inner_->finish({&request, 1}, out.subspan(i, 1), d);
        }
    }
    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline d) override {
        for (std::size_t i = 0; i < in.size(); ++i) {
            const std::string key = fold(in[i].trace_id);
            const FindRequest request{key};
            inner_->find({&request, 1}, out.subspan(i, 1), d);
        }
    }

private:
    static std::string fold(std::string_view key) {
        std::string folded(key);
        std::transform(folded.begin(), folded.end(), folded.begin(), [](unsigned char c) { return std::tolower(c); });
        while (!folded.empty() && folded.back() == ' ') folded.pop_back();
        return folded;
    }
};

/// When a reply is lost it sends the write again and believes the second reply. Here every third one is lost.
class RepeatsBlindly final : public Passing {
public:
    using Passing::Passing;
    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline d) override {
        inner_->begin(in, out, d);
        if (lost()) inner_->begin(in, out, d);
    }
    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline d) override {
        inner_->finish(in, out, d);
        if (lost()) inner_->finish(in, out, d);
    }

private:
    bool lost() { return ++writes_ % 3 == 0; }
    int writes_ = 0;
};

template <class Session>
class Wrong final : public nebis::Store {
public:
    explicit Wrong(std::shared_ptr<nebis::Store> inner) : inner_(std::move(inner)) {}
    std::string_view name() const noexcept override { return "wrong"; }
    nebis::StoreTraits traits() const noexcept override { return inner_->traits(); }
    Result<void> verify(Deadline d) override { return inner_->verify(d); }
    Result<void> create_schema(Deadline d) override { return inner_->create_schema(d); }
    Result<std::unique_ptr<StoreSession>> open(Deadline d) override {
        return std::unique_ptr<StoreSession>(std::make_unique<Session>(std::move(*inner_->open(d))));
    }
    bool wait_for_change(Deadline d) override { return inner_->wait_for_change(d); }

private:
    std::shared_ptr<nebis::Store> inner_;
};

template <class Session>
std::vector<std::string> broken_by() {
    const nebis::fakes::VirtualClock clock;
    nebis::conformance::StoreFixture fixture;
    fixture.make = [clock] { return std::make_shared<Wrong<Session>>(nebis::memory::store({.clock = clock})); };
    fixture.advance = [clock](std::chrono::milliseconds by) { clock.advance(by); };
    std::vector<std::string> names;
    for (const auto& result : nebis::conformance::run_store(fixture))
        if (!result.broken.empty()) names.push_back(result.name);
    return names;
}

TEST(WrongStores, wrapper_alone_is_acquitted) { EXPECT_THAT(broken_by<Passing>(), IsEmpty()); }

TEST(WrongStores, forgotten_version_is_convicted) {
    EXPECT_THAT(broken_by<ForgetsTheVersion>(), Contains("finish_only_owner_and_version"));
}

TEST(WrongStores, comparison_by_collation_is_convicted) {
    EXPECT_THAT(broken_by<ComparesByCollation>(), Contains("keys_are_equal_only_byte_by_byte"));
}

TEST(WrongStores, blind_repetition_is_convicted) {
    const auto broken = broken_by<RepeatsBlindly>();
    EXPECT_THAT(broken, Contains("finish_owner_may_be_late"));
    EXPECT_THAT(broken, Contains("race_one_of_two_begins_wins"));
}

// ---- gates

using nebis::CachedResult;
using nebis::EnterOutcome;
using nebis::EnterRequest;
using nebis::LeaveRequest;
using nebis::Owner;

/// The article's scripts: the lock is dropped, and the result written, by whoever comes.
class LeavesWithoutOwner final : public nebis::Gate {
public:
    std::string_view name() const noexcept override { return "wrong"; }
    nebis::GateTraits traits() const noexcept override { return {}; }
    Result<std::unique_ptr<nebis::GateSession>> open(Deadline d) override {
        return std::unique_ptr<nebis::GateSession>(std::make_unique<Session>(std::move(*gate_->open(d)), gate_));
    }

private:
    struct Session final : nebis::GateSession {
        Session(std::unique_ptr<nebis::GateSession> inner, std::shared_ptr<nebis::fakes::ManualGate> gate)
            : inner(std::move(inner)), gate(std::move(gate)) {}
        void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline d) override {
            inner->enter(in, out, d);
        }
        void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline) override {
            for (std::size_t i = 0; i < in.size(); ++i) {
                gate->drop_lock(std::string(in[i].trace_id));
                if (in[i].result) gate->put(*in[i].result);
                out[i] = true;
            }
        }
        void renew(std::span<const nebis::LockRenewRequest> in, std::span<Result<bool>> out, Deadline d) override {
            inner->renew(in, out, d);
        }
        Result<void> evict(std::string_view k, const Owner* o, std::int64_t l, Deadline d) override {
            return inner->evict(k, o, l, d);
        }
        std::unique_ptr<nebis::GateSession> inner;
        std::shared_ptr<nebis::fakes::ManualGate> gate;
    };
    std::shared_ptr<nebis::fakes::ManualGate> gate_ = std::make_shared<nebis::fakes::ManualGate>();
};

TEST(WrongGates, release_without_owner_is_convicted) {
    nebis::conformance::GateFixture fixture;
    fixture.make = [] { return std::make_shared<LeavesWithoutOwner>(); };
    fixture.patience = std::chrono::milliseconds(1);
    std::vector<std::string> names;
    for (const auto& result : nebis::conformance::run_gate(fixture))
        if (!result.broken.empty()) names.push_back(result.name);
    EXPECT_THAT(names, Contains("leave_frees_only_ours"));
    EXPECT_THAT(names, Contains("result_is_kept_only_with_the_lock"));
}

TEST(Suites, name_their_cases) {
    EXPECT_GE(nebis::conformance::store_cases().size(), 50U);
    EXPECT_GE(nebis::conformance::gate_cases().size(), 14U);
}

}  // namespace
