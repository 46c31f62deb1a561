// SPDX-License-Identifier: Apache-2.0
// The article's flaws by number, and what the request machine does where the straw man (proof/strawman) fails.
#include "model_store.hpp"
#include "protocol/request_machine.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace nebis::explore {
namespace {

using protocol::Action;
using protocol::Event;
using protocol::RequestMachine;
using protocol::RowView;
using protocol::Rules;
using protocol::Verdict;
using Status = RecordStatus;

constexpr Tick lease = 100;
constexpr Tick retention = 1'000;

struct Place {
    ModelStore store;
    ModelGate gate;
    Tick now = 1;
    int effects = 0;
    bool store_away = false;
};

/// One request, carried from action to action against the model store and gate, stopping where a test wants it to.
class Attempt {
public:
    Attempt(Place& place, Who who, const Rules& rules, std::uint8_t hash = 0)
        : place_(place), rules_(std::make_unique<Rules>(rules)), machine_(rules_.get()), who_(who), hash_(hash) {
        feed({.kind = Event::Kind::start});
    }

    /// Until the next action is of this kind, or nothing is left to do.
    Attempt& until(Action::Kind kind) {
        while (next_.kind != kind && next_.kind != Action::Kind::done) step();
        return *this;
    }
    Verdict end() {
        until(Action::Kind::done);
        return verdict_;
    }
    Attempt& handler_starts() { return until(Action::Kind::run); }
    void handler_returns(Status status = Status::success) {
        ASSERT_EQ(next_.kind, Action::Kind::run);
        if (status == Status::success) ++place_.effects;
        feed({.kind = Event::Kind::handled, .result = status});
    }
    bool started() const { return next_.kind == Action::Kind::run; }
    bool recorded() const { return recorded_; }
    const Action& next() const { return next_; }

private:
    void feed(Event event) {
        event.now = place_.now;
        next_ = machine_.on(event);
    }
    RowView view(const Row& row) const {
        return {.exists = row.exists,
                .status = row.status,
                .version = row.version,
                .ours = row.exists && row.owner == who_,
                .lease_over = row.lease_over(place_.now),
                .expired = row.expired(place_.now),
                .fits = row.hash == hash_,
                .remaining = std::max<Tick>(0, static_cast<Tick>(row.lease - place_.now))};
    }
    void step() {
        switch (next_.kind) {
            case Action::Kind::enter: {
                const Entered entered = place_.gate.enter(who_, hash_, place_.now, lease);
                return feed({.kind = Event::Kind::entered, .enter = entered.kind, .remaining = entered.remaining});
            }
            case Action::Kind::begin: {
                if (place_.store_away) return feed({.kind = Event::Kind::begin_failed});
                const Begun begun = place_.store.begin({.owner = who_,
                                                        .hash = hash_,
                                                        .mark = rules_->mode == Mode::mark,
                                                        .take_over_lease = next_.take_over_lease,
                                                        .take_over_unknown = next_.take_over_unknown,
                                                        .lapse = next_.lapse},
                                                       place_.now, lease, retention);
                Event event{.kind = Event::Kind::begun,
                            .begin = begun.kind,
                            .ours = begun.ours,
                            .version = begun.row.version,
                            .remaining = begun.remaining};
                event.row = view(begun.row);
                return feed(event);
            }
            case Action::Kind::find: return feed({.kind = Event::Kind::found, .row = view(place_.store.row)});
            case Action::Kind::finish: {
                if (place_.store_away) return feed({.kind = Event::Kind::finish_failed, .ambiguous = true});
                Event event{.kind = Event::Kind::finished};
                event.applied = place_.store.finish({.owner = who_,
                                                     .version = static_cast<std::uint8_t>(next_.version),
                                                     .status = next_.status,
                                                     .response = static_cast<std::uint8_t>(next_.version),
                                                     .from_marked = next_.what == Action::Finish::give_back},
                                                    place_.now, retention);
                event.row = view(place_.store.row);
                return feed(event);
            }
            case Action::Kind::wait:
                place_.now = static_cast<Tick>(next_.until);
                return feed({.kind = Event::Kind::timer});
            case Action::Kind::answer:
                verdict_ = next_.verdict;
                recorded_ = next_.recorded;
                return feed({.kind = Event::Kind::proceed});
            case Action::Kind::leave: {
                const Row& row = place_.store.row;
                const Cached keep{.exists = true,
                                  .status = row.status,
                                  .response = row.response,
                                  .generation = row.generation,
                                  .hash = row.hash,
                                  .end = static_cast<Tick>(row.expire - lease)};
                place_.gate.leave(who_, next_.keep ? &keep : nullptr, place_.now);
                return feed({.kind = Event::Kind::proceed});
            }
            default: FAIL() << "the test has to carry out action " << static_cast<int>(next_.kind);
        }
    }

    Place& place_;
    std::unique_ptr<Rules> rules_;
    RequestMachine machine_;
    Who who_;
    std::uint8_t hash_;
    Action next_;
    Verdict verdict_ = Verdict::none;
    bool recorded_ = false;
};

class Acquittal : public testing::Test {
protected:
    Place place_;
    Rules hold_;

    Acquittal() {
        hold_.lease = lease;
        hold_.margin = 10;
        hold_.enter_budget = hold_.begin_budget = hold_.finish_budget = 10;
        hold_.record_for = 50;
        hold_.retry_first = hold_.retry_max = 5;
    }
    Rules retry() const {
        Rules rules = hold_;
        rules.on_unknown = OnUnknown::retry;
        return rules;
    }
    Attempt attempt(Who who, std::uint8_t hash = 0) { return Attempt(place_, who, hold_, hash); }
    Status status() const { return place_.store.row.status; }
    void lock_vanishes() { place_.gate.owner = nobody; }
    void recovery_runs() { place_.store.recover(place_.now); }
};

TEST_F(Acquittal, Z01_a_duplicate_writes_nothing_to_somebody_elses_record) {
    Attempt a = attempt(0);
    a.handler_starts();
    lock_vanishes();
    EXPECT_EQ(attempt(1).end(), Verdict::in_progress);
    EXPECT_EQ(status(), Status::processing);
    EXPECT_EQ(attempt(2).end(), Verdict::in_progress);
    a.handler_returns();
    EXPECT_EQ(a.end(), Verdict::fresh);
    EXPECT_EQ(place_.effects, 1);
}

TEST_F(Acquittal, Z02_Z03_the_lock_keeps_every_other_attempt_out) {
    Attempt a = attempt(0);
    a.handler_starts();
    Attempt b = attempt(1);  // owners are random: no header and no key makes two alike
    b.until(Action::Kind::find);
    EXPECT_EQ(place_.gate.owner, 0);
    EXPECT_EQ(b.end(), Verdict::in_progress);
}

TEST_F(Acquittal, Z04_who_is_refused_leaves_the_lock_alone) {
    Attempt a = attempt(0);
    a.handler_starts();
    attempt(1).end();
    EXPECT_EQ(place_.gate.owner, 0);
}

TEST_F(Acquittal, Z05_leave_drops_only_its_own_lock_and_keeps_nothing_without_it) {
    Attempt a = attempt(0);
    a.handler_starts();
    a.handler_returns();
    a.until(Action::Kind::leave);
    place_.now += lease;  // its lock is over
    Attempt b = attempt(1);
    b.until(Action::Kind::begin);
    a.end();
    EXPECT_EQ(place_.gate.owner, 1);
    EXPECT_FALSE(place_.gate.cached.exists);
    EXPECT_EQ(b.end(), Verdict::row);
}

TEST_F(Acquittal, Z06_of_two_retries_of_a_failure_one_runs) {
    Attempt a = attempt(0);
    a.handler_starts();
    a.handler_returns(Status::fail);
    a.end();
    EXPECT_EQ(status(), Status::fail);
    lock_vanishes();
    Attempt b = attempt(1);
    b.until(Action::Kind::begin);
    lock_vanishes();
    Attempt c = attempt(2);
    c.until(Action::Kind::begin);
    b.handler_starts();
    EXPECT_TRUE(b.started());
    EXPECT_EQ(c.end(), Verdict::in_progress);
}

TEST_F(Acquittal, Z07_a_fenced_off_owner_finishes_nothing) {
    Attempt a(place_, 0, retry());
    a.handler_starts();
    place_.now += lease;
    Attempt b(place_, 1, retry());
    b.handler_starts();
    ASSERT_TRUE(b.started());
    a.handler_returns();
    EXPECT_EQ(a.end(), Verdict::fenced_off);
    EXPECT_EQ(status(), Status::processing);
    EXPECT_EQ(place_.store.row.owner, 1);
}

TEST_F(Acquittal, Z08_SUCCESS_stays) {
    Attempt a = attempt(0);
    a.handler_starts();
    lock_vanishes();
    Attempt b = attempt(1);
    b.until(Action::Kind::begin);
    a.handler_returns();
    a.end();
    EXPECT_EQ(b.end(), Verdict::row);
    EXPECT_EQ(status(), Status::success);
    EXPECT_FALSE(place_.store.finish({.owner = 0, .version = place_.store.row.version, .status = Status::fail},
                                     place_.now, retention));
}

TEST_F(Acquittal, Z09_a_finish_that_fails_is_no_failed_business) {
    Attempt a = attempt(0);
    a.handler_starts();
    a.handler_returns();
    place_.store_away = true;
    EXPECT_EQ(a.end(), Verdict::fresh);
    EXPECT_FALSE(a.recorded());
    place_.store_away = false;
    place_.now += lease;
    EXPECT_EQ(attempt(1).end(), Verdict::unknown);
    EXPECT_EQ(place_.effects, 1);
}

TEST_F(Acquittal, Z10_a_crash_between_effect_and_finish_is_held) {
    Attempt a = attempt(0);
    a.handler_starts();
    ++place_.effects;  // and then it is never heard of again
    place_.now += lease;
    recovery_runs();
    EXPECT_EQ(status(), Status::unknown);
    EXPECT_EQ(attempt(1).end(), Verdict::unknown);
    EXPECT_EQ(place_.effects, 1);
}

TEST_F(Acquittal, Z11_a_slow_owner_is_not_doubled_and_still_finishes) {
    Attempt a = attempt(0);
    a.handler_starts();
    place_.now += lease - 1;
    recovery_runs();
    EXPECT_EQ(status(), Status::processing);  // its lease lives
    place_.store.renew(0, place_.store.row.version, place_.now, lease);
    place_.now += lease;
    recovery_runs();
    EXPECT_EQ(status(), Status::unknown);
    EXPECT_EQ(attempt(1).end(), Verdict::unknown);
    a.handler_returns();
    EXPECT_EQ(a.end(), Verdict::fresh);
    EXPECT_EQ(status(), Status::success);
    EXPECT_EQ(place_.effects, 1);
}

TEST_F(Acquittal, Z12_a_lock_that_is_gone_proves_nothing) {
    Attempt a = attempt(0);
    a.handler_starts();
    place_.gate = {};
    EXPECT_EQ(attempt(1).end(), Verdict::in_progress);
    a.handler_returns();
    EXPECT_EQ(a.end(), Verdict::fresh);
    EXPECT_EQ(place_.effects, 1);
}

TEST_F(Acquittal, Z13_recovery_touches_no_lock) {
    Attempt a = attempt(0);
    a.handler_starts();
    place_.store.row.lease = place_.now;
    recovery_runs();
    EXPECT_EQ(place_.gate.owner, 0);
}

TEST_F(Acquittal, Z15_versions_grow_also_over_a_delete) {
    attempt(0).handler_starts();
    const std::uint8_t first = place_.store.row.version;
    EXPECT_TRUE(place_.store.purge(first));
    place_.gate = {};
    attempt(1).handler_starts();
    EXPECT_GT(place_.store.row.version, first);
}

TEST_F(Acquittal, Z22_another_payload_is_refused_on_every_path) {
    Attempt a = attempt(0);
    a.handler_starts();
    EXPECT_EQ(attempt(1, 1).end(), Verdict::mismatch);  // held
    lock_vanishes();
    EXPECT_EQ(attempt(1, 1).end(), Verdict::mismatch);  // begin
    a.handler_returns();
    a.end();
    place_.gate.cached = {.exists = true, .status = Status::success, .hash = 0, .end = 500};
    EXPECT_EQ(attempt(1, 1).end(), Verdict::mismatch);  // cached
}

TEST_F(Acquittal, Z27_a_row_that_is_gone_is_no_failure) {
    Attempt a = attempt(0);
    a.until(Action::Kind::begin);
    EXPECT_EQ(attempt(1).end(), Verdict::in_progress);  // the lock is held, there is no row yet
    a.handler_starts();
    EXPECT_TRUE(a.started());
}

TEST_F(Acquittal, Z34_the_cache_ends_before_the_record) {
    Attempt a = attempt(0);
    a.handler_starts();
    a.handler_returns();
    a.end();
    ASSERT_TRUE(place_.gate.cached.exists);
    EXPECT_EQ(attempt(1).end(), Verdict::cached);
    place_.now = place_.store.row.expire;
    Attempt b = attempt(2);
    b.handler_starts();
    EXPECT_TRUE(b.started());
}

TEST_F(Acquittal, Z36_a_mark_is_swept_by_nobody) {
    Rules mark = hold_;
    mark.mode = Mode::mark;
    Attempt a(place_, 0, mark);
    a.handler_starts();
    a.handler_returns();
    a.end();
    place_.now += 5 * lease;
    recovery_runs();
    EXPECT_EQ(status(), Status::marked);
    EXPECT_EQ(Attempt(place_, 1, mark).end(), Verdict::duplicate);
}

TEST_F(Acquittal, Z40_an_expired_row_blocks_nobody_though_nothing_cleaned_it) {
    Attempt a = attempt(0);
    a.handler_starts();
    a.handler_returns();
    a.end();
    place_.now = place_.store.row.expire;
    Attempt b = attempt(1, 1);  // another payload even: the key counts as new
    b.handler_starts();
    EXPECT_TRUE(b.started());
}

}  // namespace
}  // namespace nebis::explore
