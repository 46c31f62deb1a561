// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "sqlite_bench.hpp"

#include <future>
#include <thread>

// The rules of every `atomic` transaction, one by one.
namespace {

using namespace nebis;
using namespace nebis::test;
using Kind = AtomicReport::Kind;
using std::chrono::milliseconds;

class SqliteAtomic : public SqliteTest {
protected:
    SqliteAtomic() : runner_(sqlite::runner(database_)) {}

    AtomicClaim before(std::string_view key, std::uint64_t version, const Owner& who) const {
        AtomicClaim claim;
        claim.version = version;
        claim.owner = who;
        claim.trace_id = key;
        claim.retention_millis = 3'600'000;
        claim.store = store_.get();
        return claim;
    }
    AtomicClaim inside(std::string_view key, const Owner& who) const {
        AtomicClaim claim = before(key, 0, who);
        claim.inside = true;
        claim.begin = begin_request(key, who);
        return claim;
    }
    AtomicReport run(const AtomicClaim& claim, const TransactionRunner::Body& body, Deadline deadline = soon()) {
        auto execution = this->execution();
        return runner_->run(claim, execution, body, deadline);
    }

    /// The ordinary body: one order.
    static Response place_order(void* transaction, const std::string& id = "o1") {
        run_sql(transaction, "INSERT INTO orders (id) VALUES ('" + id + "')");
        Response response;
        response.status = 201;
        response.body = id;
        return response;
    }
    static int run_sql(void* transaction, const std::string& sql) {
        return sqlite3_exec(static_cast<sqlite3*>(transaction), sql.c_str(), nullptr, nullptr, nullptr);
    }

    std::shared_ptr<TransactionRunner> runner_;
};

// ---- claim before

TEST_F(SqliteAtomic, effect_and_record_commit_together) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) { return place_order(tx); });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.status, RecordStatus::success);
    EXPECT_EQ(report.response.body, "o1");
    EXPECT_EQ(orders(), 1);
    EXPECT_EQ(row("k").status, RecordStatus::success);
    EXPECT_EQ(row("k").response->body, "o1");
}

TEST_F(SqliteAtomic, fenced_off_attempt_does_not_run) {
    const auto version = acquire("k", owner(1));
    bool ran = false;
    const auto body = [&](void* tx) { return ran = true, place_order(tx); };
    EXPECT_EQ(run(before("k", version + 1, owner(1)), body).kind, Kind::fenced_off);
    EXPECT_EQ(run(before("k", version, owner(2)), body).kind, Kind::fenced_off);
    EXPECT_EQ(run(before("other", version, owner(1)), body).kind, Kind::fenced_off);
    ASSERT_TRUE(finish(*session_, "k", version, owner(1), RecordStatus::fail)->applied);
    EXPECT_EQ(run(before("k", version, owner(1)), body).kind, Kind::fenced_off);
    EXPECT_FALSE(ran);
    EXPECT_EQ(orders(), 0);
}

TEST_F(SqliteAtomic, late_owner_of_an_unknown_row_may_still_commit) {
    const auto version = acquire("k", owner(1));
    ASSERT_TRUE(finish(*session_, "k", version, owner(1), RecordStatus::unknown)->applied);
    EXPECT_EQ(run(before("k", version, owner(1)), [](void* tx) { return place_order(tx); }).kind, Kind::committed);
    EXPECT_EQ(row("k").status, RecordStatus::success);
}

TEST_F(SqliteAtomic, thrown_failure_rolls_back_and_is_handed_on) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) -> Response {
        place_order(tx);
        throw NotExecuted("no stock");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    ASSERT_TRUE(report.failure);
    EXPECT_THROW(std::rethrow_exception(report.failure), NotExecuted);
    EXPECT_EQ(orders(), 0);
    EXPECT_EQ(row("k").status, RecordStatus::processing);
}

TEST_F(SqliteAtomic, refusal_rolls_the_business_back_and_keeps_the_record) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) -> Response {
        place_order(tx);
        throw Rejected("insufficient balance", 402);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.status, RecordStatus::rejected);
    EXPECT_EQ(report.response.status, 402);
    EXPECT_EQ(orders(), 0);
    EXPECT_EQ(row("k").status, RecordStatus::rejected);
    EXPECT_EQ(row("k").response->body, "insufficient balance");
}

TEST_F(SqliteAtomic, S53_large_answer_leaves_a_tombstone) {
    const auto version = acquire("k", owner(1));
    AtomicClaim claim = before("k", version, owner(1));
    claim.max_response_bytes = 10;
    const AtomicReport report = run(claim, [](void* tx) {
        Response response = place_order(tx);
        response.body = std::string(11, 'x');
        return response;
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.response.body.size(), 11U);
    EXPECT_TRUE(row("k").response->tombstone);
    EXPECT_EQ(row("k").response->status, 201);
    EXPECT_TRUE(row("k").response->body.empty());
}

TEST_F(SqliteAtomic, body_that_commits_has_committed_nothing) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) {
        place_order(tx, "before");
        EXPECT_NE(run_sql(tx, "COMMIT"), SQLITE_OK);
        place_order(tx, "after");
        return place_order(tx, "last");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    ASSERT_TRUE(report.error);
    EXPECT_EQ(report.error->code(), "transaction-ended");
    EXPECT_EQ(orders(), 0);
    EXPECT_EQ(row("k").status, RecordStatus::processing);
}

TEST_F(SqliteAtomic, body_that_rolls_back_and_begins_its_own_has_committed_nothing) {
    const auto version = acquire("k", owner(1));
    for (const std::string begin_again : {"BEGIN", "SAVEPOINT nebis_body", ""}) {
        const AtomicReport report = run(before("k", version, owner(1)), [&](void* tx) {
            run_sql(tx, "ROLLBACK");
            if (!begin_again.empty()) run_sql(tx, begin_again);
            return place_order(tx);
        });
        EXPECT_EQ(report.kind, Kind::rolled_back) << begin_again;
        EXPECT_EQ(orders(), 0) << begin_again;
    }
    EXPECT_EQ(run(before("k", version, owner(1)), [](void* tx) { return place_order(tx); }).kind, Kind::committed)
        << "and the next one may";
}

TEST_F(SqliteAtomic, body_that_takes_our_hooks_away_leaves_the_outcome_unknown) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) {
        sqlite3_commit_hook(static_cast<sqlite3*>(tx), nullptr, nullptr);
        Response response = place_order(tx);
        run_sql(tx, "COMMIT");
        return response;
    });
    EXPECT_EQ(report.kind, Kind::ambiguous);
    EXPECT_EQ(orders(), 1);
    EXPECT_EQ(row("k").status, RecordStatus::processing) << "so nobody may call it not executed";
}

TEST_F(SqliteAtomic, statement_that_rolls_back_by_itself_is_noticed) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) {
        place_order(tx, "o1");
        EXPECT_NE(run_sql(tx, "INSERT OR ROLLBACK INTO orders (id) VALUES ('o1')"), SQLITE_OK);
        return place_order(tx, "o2");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(orders(), 0);
}

TEST_F(SqliteAtomic, body_that_deletes_its_own_record_is_fenced_off) {
    const auto version = acquire("k", owner(1));
    const AtomicReport report = run(before("k", version, owner(1)), [](void* tx) {
        run_sql(tx, "DELETE FROM idempotent_record");
        return place_order(tx);
    });
    EXPECT_EQ(report.kind, Kind::fenced_off);
    EXPECT_EQ(orders(), 0);
    EXPECT_TRUE(there("k"));
}

TEST_F(SqliteAtomic, nested_operations_of_the_same_file_are_refused_at_once) {
    const auto version = acquire("k", owner(1));
    const auto other = acquire("other", owner(2));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(store_->waits_for_this_thread());
    const AtomicReport report = run(before("k", version, owner(1)), [&](void* tx) {
        EXPECT_TRUE(store_->waits_for_this_thread());
        const AtomicReport nested =
            run(before("other", other, owner(2)), [](void* inner) { return place_order(inner); });
        EXPECT_EQ(nested.kind, Kind::rolled_back);
        EXPECT_EQ(nested.error->code(), "nested-atomic");
        const auto begun = begin(*session_, "third", owner(3));
        EXPECT_FALSE(begun);
        EXPECT_EQ(begun.error().code(), "nested-atomic");
        EXPECT_TRUE(find(*session_, "other")->record) << "reading is no write";
        return place_order(tx);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(orders(), 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1500));
}

TEST_F(SqliteAtomic, write_lock_held_elsewhere_is_waited_for_a_bounded_time) {
    const auto version = acquire("k", owner(1));
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    bool ran = false;
    const AtomicReport report = run(
        before("k", version, owner(1)), [&](void* tx) { return ran = true, place_order(tx); }, in(milliseconds(50)));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(report.error->kind(), ErrorKind::overloaded);
    EXPECT_FALSE(ran);
    other.run("ROLLBACK");
    EXPECT_EQ(run(before("k", version, owner(1)), [](void* tx) { return place_order(tx); }).kind, Kind::committed);
}

TEST_F(SqliteAtomic, S15_record_lies_in_the_table_of_the_operation) {
    const auto refunds = sqlite::store(database_, "refund_record");
    ASSERT_TRUE(refunds->verify(soon()));
    auto session = open(*refunds);
    const auto begun = begin(*session, "k", owner(1));
    AtomicClaim claim = before("k", begun->version, owner(1));
    claim.store = refunds.get();
    EXPECT_EQ(run(claim, [](void* tx) { return place_order(tx); }).kind, Kind::committed);
    EXPECT_EQ(find(*session, "k")->record->status, RecordStatus::success);
    EXPECT_FALSE(there("k"));
}

TEST_F(SqliteAtomic, serves_stores_of_its_own_file_only) {
    EXPECT_TRUE(runner_->serves(*store_));
    EXPECT_TRUE(
        runner_->serves(*sqlite::store(sqlite::Database(folder_.path().string() + "/./orders.db"), "another_table")));
    EXPECT_FALSE(runner_->serves(*sqlite::store(sqlite::Database(folder_.file("else.db")))));
}

TEST_F(SqliteAtomic, many_threads_place_each_order_once) {
    constexpr int threads = 8, each = 20;
    std::vector<std::future<int>> done;
    for (int t = 0; t < threads; ++t)
        done.push_back(std::async(std::launch::async, [&, t] {
            int committed = 0;
            for (int i = 0; i < each; ++i) {
                const std::string key = "k" + std::to_string(i);
                const auto report = run(inside(key, owner(static_cast<unsigned>(100 + t * each + i))),
                                        [&](void* tx) { return place_order(tx, key); });
                committed += report.kind == Kind::committed ? 1 : 0;
                EXPECT_TRUE(report.kind == Kind::committed || report.kind == Kind::found);
            }
            return committed;
        }));
    int committed = 0;
    for (auto& one : done) committed += one.get();
    EXPECT_EQ(committed, each);
    EXPECT_EQ(orders(), each);
}

TEST_F(SqliteAtomic, unprotected_is_a_plain_transaction) {
    AtomicClaim claim = before("k", 0, owner(1));
    claim.unprotected = true;
    AtomicReport report = run(claim, [](void* tx) { return place_order(tx); });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(orders(), 1);
    EXPECT_FALSE(there("k"));
    report = run(claim, [](void* tx) -> Response {
        place_order(tx, "o2");
        throw Rejected("no");
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.status, RecordStatus::rejected);
    report = run(claim, [](void* tx) -> Response {
        place_order(tx, "o3");
        throw NotExecuted("no stock");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(orders(), 1);
    // Whoever only observes may not have made the tables yet.
    Sql(path()).run("DROP TABLE idempotent_record");
    EXPECT_EQ(run(claim, [](void* tx) { return place_order(tx, "o4"); }).kind, Kind::committed);
    EXPECT_EQ(orders(), 2);
}

TEST_F(SqliteAtomic, an_engine_that_is_switched_off_or_only_observes_runs_the_body) {
    for (const std::string mode : {"off", "observe"}) {
        Engine::Parts parts;
        parts.store = store_;
        parts.configuration = "nebis: { idempotent: { enforcement: \"" + mode + "\" } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        Engine engine = Engine::make(std::move(parts)).value();
        Policy policy;
        policy.operation = "order";
        policy.mode = Mode::atomic;
        policy.key = header("Idempotency-Key");
        Request request;
        request.headers = {{"Idempotency-Key", "k"}};
        const int before = orders();
        const Answer answer = engine.run(
            engine.operation(policy).value(), request,
            Handler::atomic(runner_, [&](const Request&, void* tx, Execution&) { return place_order(tx, mode); }));
        EXPECT_EQ(answer.outcome, Outcome::fresh) << (answer.error ? answer.error->text() : "");
        EXPECT_TRUE(answer.unprotected);
        EXPECT_EQ(orders(), before + 1);
    }
}

// ---- claim inside

TEST_F(SqliteAtomic, inside_begins_runs_and_finishes_in_one_commit) {
    auto execution = this->execution();
    std::uint64_t token = 0;
    const AtomicReport report = runner_->run(
        inside("k", owner(1)), execution,
        [&](void* tx) {
            token = execution.fencing_token();
            EXPECT_EQ(execution.attempt(), 1U);
            EXPECT_EQ(Sql(path()).number("SELECT count(*) FROM idempotent_record"), 0)
                << "nobody sees it before the commit";
            return place_order(tx);
        },
        soon());
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(orders(), 1);
    EXPECT_EQ(row("k").status, RecordStatus::success);
    EXPECT_EQ(row("k").version, token);
    EXPECT_GT(token, 0U);
}

TEST_F(SqliteAtomic, inside_duplicate_finds_what_was_done) {
    run(inside("k", owner(1)), [](void* tx) { return place_order(tx); });
    bool ran = false;
    AtomicReport report = run(inside("k", owner(2)), [&](void* tx) { return ran = true, place_order(tx); });
    EXPECT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::finished);
    EXPECT_EQ(report.begun->record->response->body, "o1");
    AtomicClaim other = inside("k", owner(3));
    other.begin.request_hash.digest.fill(7);
    report = run(other, [&](void* tx) { return ran = true, place_order(tx); });
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::mismatch);
    EXPECT_FALSE(ran);
    EXPECT_EQ(orders(), 1);
}

TEST_F(SqliteAtomic, inside_duplicate_is_answered_while_another_transaction_holds_the_file) {
    run(inside("k", owner(1)), [](void* tx) { return place_order(tx); });
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    const AtomicReport report = run(inside("k", owner(2)), [](void* tx) { return place_order(tx); });
    EXPECT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::finished);
    AtomicClaim fresh = inside("fresh", owner(3));
    fresh.lock_wait = milliseconds(30);
    const AtomicReport waited = run(fresh, [](void* tx) { return place_order(tx, "fresh"); });
    EXPECT_EQ(waited.kind, Kind::rolled_back);
    EXPECT_EQ(waited.error->kind(), ErrorKind::overloaded)
        << "a fresh key can't be begun, and that is said after `wait`";
}

TEST_F(SqliteAtomic, inside_failure_leaves_nothing) {
    const AtomicReport report = run(inside("k", owner(1)), [](void* tx) -> Response {
        place_order(tx);
        throw std::runtime_error("bug");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_FALSE(there("k"));
    EXPECT_EQ(orders(), 0);
}

TEST_F(SqliteAtomic, inside_refusal_keeps_the_record_alone) {
    const AtomicReport report = run(inside("k", owner(1)), [](void* tx) -> Response {
        place_order(tx);
        throw Rejected("no");
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(row("k").status, RecordStatus::rejected);
    EXPECT_EQ(orders(), 0);
}

TEST_F(SqliteAtomic, inside_runs_a_failed_key_again_and_lapses_an_abandoned_one) {
    const auto version = acquire("failed", owner(1));
    ASSERT_TRUE(finish(*session_, "failed", version, owner(1), RecordStatus::fail)->applied);
    EXPECT_EQ(run(inside("failed", owner(2)), [](void* tx) { return place_order(tx); }).kind, Kind::committed);
    EXPECT_EQ(row("failed").attempts, 2U);

    BeginRequest dead = begin_request("dead", owner(3));
    dead.lease_millis = -1;
    ASSERT_EQ(begin(*session_, dead)->kind, BeginOutcome::Kind::acquired);
    AtomicClaim claim = inside("dead", owner(4));
    claim.begin.lapse = true;
    const AtomicReport report = run(claim, [](void* tx) { return place_order(tx, "o2"); });
    EXPECT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::unknown);
    EXPECT_EQ(row("dead").status, RecordStatus::unknown) << "the row was moved, not only the answer";
}

TEST_F(SqliteAtomic, inside_takes_over_what_a_begin_would_take_over) {
    BeginRequest lost = begin_request("unknown", owner(1));
    lost.lease_millis = -1;
    const auto version = begin(*session_, lost)->version;
    ASSERT_TRUE(finish(*session_, "unknown", version, owner(1), RecordStatus::unknown)->applied);
    AtomicClaim claim = inside("unknown", owner(2));
    EXPECT_EQ(run(claim, [](void* tx) { return place_order(tx); }).kind, Kind::found) << "not without leave";
    claim.begin.take_over_unknown = true;
    EXPECT_EQ(run(claim, [](void* tx) { return place_order(tx); }).kind, Kind::committed);
    EXPECT_EQ(row("unknown").status, RecordStatus::success);
    EXPECT_GT(row("unknown").version, version);
    EXPECT_EQ(row("unknown").attempts, 2U);

    AtomicClaim brief = inside("expired", owner(3));
    brief.retention_millis = -1;
    ASSERT_EQ(run(brief, [](void* tx) { return place_order(tx, "o2"); }).kind, Kind::committed);
    const auto first = row("expired").version;
    EXPECT_EQ(run(inside("expired", owner(4)), [](void* tx) { return place_order(tx, "o3"); }).kind, Kind::committed);
    EXPECT_EQ(row("expired").attempts, 1U) << "it counts as new";
    EXPECT_GT(row("expired").version, first);
    EXPECT_EQ(row("expired").response->body, "o3");
}

TEST_F(SqliteAtomic, inside_writes_a_new_row_once_and_as_begin_and_finish_leave_it) {
    const auto version = acquire("two-steps", owner(1));
    Response response;
    response.status = 201;
    response.body = "o1";
    ASSERT_TRUE(finish(*session_, "two-steps", version, owner(1), RecordStatus::success, &response)->applied);

    Sql sql(path());
    sql.run(
        "CREATE TABLE writes (what TEXT);"
        "CREATE TRIGGER i AFTER INSERT ON idempotent_record BEGIN INSERT INTO writes VALUES ('insert'); END;"
        "CREATE TRIGGER u AFTER UPDATE ON idempotent_record BEGIN INSERT INTO writes VALUES ('update'); END;");
    AtomicClaim claim = inside("one-step", owner(2));
    claim.begin.request_snapshot = "{}";
    ASSERT_EQ(run(claim, [](void* tx) { return place_order(tx); }).kind, Kind::committed);
    EXPECT_EQ(sql.text("SELECT group_concat(what) FROM writes"), "insert");

    const auto row_of = [&](const std::string& key) {
        return sql.text(
            "SELECT hex(response_body) || '|' || biz_type || '|' || status || '|' || attempts || '|' || "
            "hex(request_hash) || '|' || instance || '|' || outcome_ref || '|' || (expire_time - update_time) || '|' "
            "|| (lease_expire_time - update_time) || '|' || (create_time <= update_time) FROM idempotent_record "
            "WHERE trace_id = CAST('" +
            key + "' AS BLOB)");
    };
    EXPECT_NE(row_of("one-step"), "");
    EXPECT_EQ(row_of("one-step"), row_of("two-steps"));
    EXPECT_EQ(row("one-step").request_body, "{}");
    EXPECT_EQ(row("one-step").owner, owner(2));
    EXPECT_LT(sql.number("SELECT max(abs(create_time - version / 1000)) FROM idempotent_record"), 2)
        << "begun when the token was given out";
}

TEST_F(SqliteAtomic, inside_record_that_cannot_be_written_takes_the_effect_back) {
    Sql sql(path());
    sql.run("CREATE TRIGGER no BEFORE INSERT ON idempotent_record BEGIN SELECT RAISE(ABORT, 'no room'); END");
    AtomicReport report = run(inside("k", owner(1)), [](void* tx) { return place_order(tx); });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    ASSERT_TRUE(report.error);
    EXPECT_EQ(orders(), 0);
    report = run(inside("k", owner(1)), [](void* tx) -> Response {
        place_order(tx);
        throw Rejected("no");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back) << "a refusal that isn't on record is none";
    sql.run("DROP TRIGGER no");
    EXPECT_EQ(run(inside("k", owner(2)), [](void* tx) { return place_order(tx); }).kind, Kind::committed);
    EXPECT_EQ(orders(), 1);
}

TEST_F(SqliteAtomic, inside_body_that_writes_its_own_record_is_fenced_off) {
    acquire("model", owner(9));
    const AtomicReport report = run(inside("k", owner(1)), [](void* tx) {
        EXPECT_EQ(run_sql(tx,
                          "INSERT INTO idempotent_record SELECT CAST('k' AS BLOB), biz_type, status, version, owner, "
                          "attempts, request_hash, lease_expire_time, expire_time, create_time, update_time, instance, "
                          "outcome_ref, request_body, response_body FROM idempotent_record"),
                  SQLITE_OK);
        return place_order(tx);
    });
    EXPECT_EQ(report.kind, Kind::fenced_off);
    EXPECT_FALSE(there("k"));
    EXPECT_EQ(orders(), 0);
}

// ---- finish_in

class SqliteFinishIn : public SqliteAtomic {
protected:
    Execution attempt(std::string_view key, std::uint64_t version, const Owner& who) {
        auto state = std::make_shared<runtime::ExecutionState>();
        state->trace_id = key;
        state->version = version;
        state->owner = who;
        return Execution(state);
    }
};

TEST_F(SqliteFinishIn, record_goes_with_the_callers_own_transaction) {
    const auto version = acquire("k", owner(1));
    const Execution execution = attempt("k", version, owner(1));
    Response response;
    response.status = 200;
    response.body = "done";
    Sql own(path());
    own.run("BEGIN IMMEDIATE");
    own.run("INSERT INTO orders (id) VALUES ('mine')");
    ASSERT_TRUE(sqlite::finish_in(execution, own.get(), response));
    own.run("ROLLBACK");
    EXPECT_EQ(row("k").status, RecordStatus::processing);
    own.run("BEGIN IMMEDIATE");
    own.run("INSERT INTO orders (id) VALUES ('mine')");
    ASSERT_TRUE(sqlite::finish_in(execution, own.get(), response));
    own.run("COMMIT");
    EXPECT_EQ(row("k").status, RecordStatus::success);
    EXPECT_EQ(row("k").response->body, "done");
    EXPECT_EQ(orders(), 1);
}

TEST_F(SqliteFinishIn, C62_nobody_sees_success_before_the_callers_commit_and_a_rollback_frees_the_key) {
    const auto version = acquire("k", owner(1));
    Response response;
    response.status = 200;
    response.body = "done";
    Sql own(path());
    own.run("BEGIN IMMEDIATE");
    own.run("INSERT INTO orders (id) VALUES ('mine')");
    ASSERT_TRUE(sqlite::finish_in(attempt("k", version, owner(1)), own.get(), response));
    EXPECT_EQ(row("k").status, RecordStatus::processing);  // a duplicate replays nothing that may still vanish
    EXPECT_FALSE(row("k").response);
    own.run("ROLLBACK");
    EXPECT_EQ(begin(*session_, "k", owner(2)).value().kind, BeginOutcome::Kind::in_progress);  // C64: never "done"
    ASSERT_TRUE(finish(*session_, "k", version, owner(1), RecordStatus::fail).value().applied);
    EXPECT_EQ(begin(*session_, "k", owner(2)).value().kind, BeginOutcome::Kind::acquired);
    EXPECT_EQ(orders(), 0);
}

TEST_F(SqliteFinishIn, refuses_without_transaction_and_when_fenced_off) {
    const auto version = acquire("k", owner(1));
    Sql own(path());
    auto refused = sqlite::finish_in(attempt("k", version, owner(1)), own.get(), Response());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "no-transaction");
    own.run("BEGIN IMMEDIATE");
    refused = sqlite::finish_in(attempt("k", version + 1, owner(1)), own.get(), Response());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "fenced-off");
    refused = sqlite::finish_in(attempt("k", version, owner(1)), own.get(), Response(), {.status = RecordStatus::fail});
    EXPECT_FALSE(refused);
    own.run("ROLLBACK");
}

}  // namespace
