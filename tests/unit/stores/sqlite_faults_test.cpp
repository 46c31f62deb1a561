// SPDX-License-Identifier: Apache-2.0
#include "fault_vfs.hpp"
#include "sqlite_bench.hpp"

#include <sys/mount.h>

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

// Faults 34, 35 and 37, SQLite's own way: the n-th operation of each kind fails, once and for ever after, n = 1, 2, 3 …
// until the whole story passes without a fault. Whatever was reported must be true afterwards, nothing may be half
// done, and all must work again.
namespace {

using namespace nebis;
using namespace nebis::test;
using Operation = FaultVfs::Operation;
using std::chrono::milliseconds;

struct Fault {
    const char* name;
    Operation operation;
    int code;
};

constexpr Fault faults[] = {
    {"open_fails", Operation::open, SQLITE_CANTOPEN},
    {"read_fails", Operation::read, SQLITE_IOERR_READ},
    {"write_fails", Operation::write, SQLITE_IOERR_WRITE},
    {"disk_full", Operation::write, SQLITE_FULL},
    {"flush_fails", Operation::sync, SQLITE_IOERR_FSYNC},
    {"shared_memory_fails", Operation::shared_memory, SQLITE_IOERR_SHMMAP},
    {"lock_is_busy", Operation::lock, SQLITE_BUSY},
    {"lock_fails", Operation::lock, SQLITE_IOERR_SHMLOCK},
    {"file_turns_read_only", Operation::write, SQLITE_READONLY},
    {"file_turns_corrupt", Operation::read, SQLITE_CORRUPT},
};

enum class Told { yes, no, nobody_knows };

/// What the store said about one write, and what there must be to see of it.
struct Claimed {
    std::string what;
    Told told = Told::no;
    std::string seen_by;  ///< a query that answers 1 when the write is there
};

class SqliteFaults : public ::testing::TestWithParam<std::tuple<Fault, bool>> {
protected:
    static constexpr int most_operations = 400;

    void TearDown() override { FaultVfs::heal(); }

    static Told told(const Error& error) {
        return error.kind() == ErrorKind::maybe_applied ? Told::nobody_knows : Told::no;
    }

    /// One file's life while something fails. Returns false when no fault struck: the end of the series.
    bool story(Operation operation, int nth, int code, bool for_ever, const std::string& path) {
        sqlite::Options options;
        options.path = path;
        options.create_schema = true;
        options.busy_timeout = milliseconds(8);
        {
            const auto prepared = sqlite::store(options);
            EXPECT_TRUE(prepared->verify(soon()));
            Sql(path).run("CREATE TABLE orders (id TEXT PRIMARY KEY)");
            const auto session = *prepared->open(soon());
            EXPECT_TRUE(begin(*session, "old", owner(9)));
        }
        // Whoever opens a file that nobody else has open recovers its log first, under the same lock, with a patience
        // of SQLite's own (ten seconds). A busy writer is somebody else who has it open.
        std::optional<Sql> somebody_else;
        if (code == SQLITE_BUSY) somebody_else.emplace(path).run("SELECT count(*) FROM orders");
        options.create_schema = false;
        options.vfs = FaultVfs::name();
        const sqlite::Database database(options);
        const auto store = sqlite::store(database);
        const auto runner = sqlite::runner(database);
        std::vector<Claimed> claims;

        FaultVfs::fail(operation, nth, code, for_ever);
        (void)store->verify(in(milliseconds(10)));
        auto session = store->open(in(milliseconds(10)));
        if (session) {
            const std::vector<BeginRequest> requests{begin_request("a", owner(1)), begin_request("b", owner(2)),
                                                     begin_request("old", owner(3))};
            std::vector<Result<BeginOutcome>> begun(3, Error(ErrorKind::internal, "not set"));
            (*session)->begin(requests, begun, in(milliseconds(10)));
            for (std::size_t i = 0; i < 2; ++i) {
                const std::string key(requests[i].trace_id);
                const std::string row =
                    "SELECT count(*) FROM idempotent_record WHERE trace_id = CAST('" + key + "' AS BLOB)";
                if (!begun[i]) {
                    claims.push_back({"begin " + key, told(begun[i].error()), row});
                    continue;
                }
                EXPECT_EQ(begun[i]->kind, BeginOutcome::Kind::acquired);
                claims.push_back({"begin " + key, Told::yes, row});
                Response response;
                response.body = "answer";
                const auto finished = finish(**session, key, begun[i]->version, owner(static_cast<unsigned>(i + 1)),
                                             RecordStatus::success, &response, in(milliseconds(10)));
                claims.push_back({"finish " + key,
                                  finished ? (finished->applied ? Told::yes : Told::no) : told(finished.error()),
                                  row + " AND status = 1"});
            }
            EXPECT_TRUE(!begun[2] || begun[2]->kind == BeginOutcome::Kind::in_progress);
        }
        atomic_part(*runner, *store, claims);
        const bool struck = FaultVfs::struck();
        FaultVfs::heal();

        Sql truth(path);
        for (const Claimed& claim : claims) {
            if (claim.told == Told::nobody_knows) continue;
            EXPECT_EQ(truth.number(claim.seen_by), claim.told == Told::yes ? 1 : 0) << claim.what;
        }
        EXPECT_EQ(truth.number("SELECT count(*) FROM orders"),
                  truth.number("SELECT count(*) FROM idempotent_record WHERE biz_type = 'place' AND status = 1"))
            << "effect and record are one";
        EXPECT_EQ(
            truth.number("SELECT count(*) FROM idempotent_record WHERE trace_id = CAST('old' AS BLOB) AND status = 0"),
            1);
        EXPECT_EQ(truth.text("PRAGMA integrity_check"), "ok");

        // The same handles work again.
        if (!session) session = store->open(soon());
        EXPECT_TRUE(session) << session.error().text();
        const auto after = begin(**session, "after", owner(7));
        EXPECT_TRUE(after && after->kind == BeginOutcome::Kind::acquired) << (after ? "" : after.error().text());
        auto execution = Execution(std::make_shared<runtime::ExecutionState>());
        EXPECT_EQ(runner
                      ->run(
                          claim_inside("atomic-after", owner(8), *store), execution,
                          [](void* tx) { return order(tx, "after"); }, soon())
                      .kind,
                  AtomicReport::Kind::committed);
        return struck;
    }

    void atomic_part(TransactionRunner& runner, const Store& store, std::vector<Claimed>& claims) {
        for (const std::string key : {"p", "q"}) {
            auto execution = Execution(std::make_shared<runtime::ExecutionState>());
            const AtomicReport report = runner.run(
                claim_inside(key, owner(5), store), execution, [&](void* tx) { return order(tx, key); },
                in(milliseconds(10)));
            const Told told = report.kind == AtomicReport::Kind::committed   ? Told::yes
                              : report.kind == AtomicReport::Kind::ambiguous ? Told::nobody_knows
                                                                             : Told::no;
            claims.push_back({"order " + key, told, "SELECT count(*) FROM orders WHERE id = '" + key + "'"});
        }
    }

    static AtomicClaim claim_inside(std::string_view key, const Owner& who, const Store& store) {
        AtomicClaim claim;
        claim.inside = true;
        claim.begin = begin_request(key, who);
        claim.begin.operation = "place";
        claim.trace_id = key;
        claim.owner = who;
        claim.retention_millis = 3'600'000;
        claim.store = &store;
        return claim;
    }

    /// An error inside the body is the body's to see, as any business code would.
    static Response order(void* tx, const std::string& id) {
        char* message = nullptr;
        if (sqlite3_exec(static_cast<sqlite3*>(tx), ("INSERT INTO orders VALUES ('" + id + "')").c_str(), nullptr,
                         nullptr, &message) != SQLITE_OK) {
            const std::string why = message ? message : "?";
            sqlite3_free(message);
            throw std::runtime_error(why);
        }
        return Response{};
    }
};

TEST_P(SqliteFaults, nothing_lost_nothing_half_done) {
    const auto& [fault, for_ever] = GetParam();
    const TemporaryFolder folder(TemporaryFolder::in_memory());
    int nth = 1;
    while (nth <= most_operations) {
        SCOPED_TRACE(std::string(fault.name) + (for_ever ? " for ever from operation " : " once, operation ") +
                     std::to_string(nth));
        if (!story(fault.operation, nth, fault.code, for_ever, folder.file(std::to_string(nth) + ".db"))) break;
        if (HasFailure()) return;
        // The first ones are where connections are made; later ones repeat each other.
        nth += nth < 16 ? 1 : 4;
    }
    EXPECT_GT(nth, 1) << "the fault never struck";
    EXPECT_LE(nth, most_operations);
}

std::string fault_name(const ::testing::TestParamInfo<std::tuple<Fault, bool>>& info) {
    return std::string(std::get<0>(info.param).name) + (std::get<1>(info.param) ? "_for_ever" : "_once");
}

INSTANTIATE_TEST_SUITE_P(F34_F35_F37, SqliteFaults, ::testing::Combine(::testing::ValuesIn(faults), ::testing::Bool()),
                         fault_name);

// ---- each fault by its name

class SqliteFaultKinds : public SqliteTest {
protected:
    static sqlite::Options on_fault_vfs() {
        sqlite::Options options;
        options.vfs = FaultVfs::name();
        options.busy_timeout = milliseconds(50);
        return options;
    }
    SqliteFaultKinds() : SqliteTest(on_fault_vfs()) {}
    void TearDown() override { FaultVfs::heal(); }
};

TEST_F(SqliteFaultKinds, each_has_its_own_kind_and_code) {
    const struct {
        Operation operation;
        int code;
        ErrorKind kind;
        const char* word;
    } all[] = {
        {Operation::write, SQLITE_FULL, ErrorKind::unavailable, "sqlite-full"},
        {Operation::write, SQLITE_IOERR_WRITE, ErrorKind::unavailable, "sqlite-io"},
        {Operation::write, SQLITE_READONLY, ErrorKind::misconfigured, "sqlite-readonly"},
        {Operation::sync, SQLITE_IOERR_FSYNC, ErrorKind::maybe_applied, "sqlite-io"},
        {Operation::lock, SQLITE_BUSY, ErrorKind::overloaded, "sqlite-busy"},
        {Operation::lock, SQLITE_IOERR_SHMLOCK, ErrorKind::unavailable, "sqlite-io"},
    };
    int number = 0;
    for (const auto& one : all) {
        const std::string key = "k" + std::to_string(++number);
        FaultVfs::fail(one.operation, 1, one.code, true);
        const auto out = begin(*session_, key, owner(1), in(milliseconds(100)));
        FaultVfs::heal();
        ASSERT_FALSE(out) << one.word;
        EXPECT_EQ(out.error().kind(), one.kind) << out.error().text();
        EXPECT_EQ(out.error().code(), one.word) << out.error().text();
        // Read back by owner, as the protocol does: a recovery of the log may have brought back what could not be
        // flushed.
        const auto again = begin(*session_, key, owner(1));
        const bool brought_back = again->kind == BeginOutcome::Kind::in_progress && again->owner == owner(1);
        EXPECT_TRUE(again->kind == BeginOutcome::Kind::acquired ||
                    (brought_back && one.kind == ErrorKind::maybe_applied))
            << one.word;
    }
}

TEST_F(SqliteFaultKinds, replays_are_served_while_the_disk_is_full) {
    const auto version = acquire("done", owner(1));
    ASSERT_TRUE(finish(*session_, "done", version, owner(1))->applied);
    FaultVfs::fail(Operation::write, 1, SQLITE_FULL, true);
    EXPECT_FALSE(begin(*session_, "fresh", owner(2)));
    EXPECT_EQ(begin(*session_, "done", owner(3))->kind, BeginOutcome::Kind::finished);
    EXPECT_TRUE(find(*session_, "done")->record);
}

TEST_F(SqliteFaultKinds, flush_that_fails_at_an_atomic_commit_is_settled_by_a_write) {
    const auto runner = sqlite::runner(database_);
    const auto version = acquire("k", owner(1));
    AtomicClaim claim;
    claim.version = version;
    claim.owner = owner(1);
    claim.trace_id = "k";
    claim.retention_millis = 3'600'000;
    auto execution = this->execution();
    const AtomicReport report = runner->run(
        claim, execution,
        [](void* tx) {
            sqlite3_exec(static_cast<sqlite3*>(tx), "INSERT INTO orders (id) VALUES ('o')", nullptr, nullptr, nullptr);
            FaultVfs::fail(Operation::sync, 1, SQLITE_IOERR_FSYNC, false);
            return Response{};
        },
        soon());
    EXPECT_TRUE(FaultVfs::struck());
    EXPECT_EQ(report.kind, AtomicReport::Kind::rolled_back)
        << "the write that settled it has replaced what lay in the log";
    EXPECT_EQ(orders(), 0);
    EXPECT_EQ(row("k").status, RecordStatus::fail);
}

TEST_F(SqliteFaultKinds, flush_that_never_works_again_leaves_an_atomic_commit_ambiguous) {
    const auto runner = sqlite::runner(database_);
    AtomicClaim claim;
    claim.inside = true;
    claim.begin = begin_request("k", owner(1));
    claim.owner = owner(1);
    claim.trace_id = "k";
    auto execution = this->execution();
    const AtomicReport report = runner->run(
        claim, execution,
        [](void*) {
            FaultVfs::fail(Operation::sync, 1, SQLITE_IOERR_FSYNC, true);
            return Response{};
        },
        in(milliseconds(300)));
    EXPECT_EQ(report.kind, AtomicReport::Kind::ambiguous);
    EXPECT_EQ(report.error->code(), "sqlite-io");
}

// ---- who holds the file

class SqliteLocked : public SqliteTest {
protected:
    static sqlite::Options patient() {
        sqlite::Options options;
        options.busy_timeout = milliseconds(400);
        return options;
    }
    SqliteLocked() : SqliteTest(patient()) {}
    sqlite::Options path_options() const {
        sqlite::Options options;
        options.path = path();
        return options;
    }
};

TEST_F(SqliteLocked, what_needs_no_write_is_answered_all_the_same) {
    const auto version = acquire("done", owner(1));
    ASSERT_TRUE(finish(*session_, "done", version, owner(1))->applied);
    acquire("held", owner(2));
    BeginRequest abandoned = begin_request("abandoned", owner(3));
    abandoned.lease_millis = -1;
    ASSERT_EQ(begin(*session_, abandoned)->kind, BeginOutcome::Kind::acquired);

    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    std::vector<BeginRequest> requests{begin_request("abandoned", owner(4)), begin_request("done", owner(4)),
                                       begin_request("fresh", owner(4)), begin_request("held", owner(4))};
    for (auto& request : requests) request.take_over_lease = true;
    std::vector<Result<BeginOutcome>> out(4, Error(ErrorKind::internal, "not set"));
    session_->begin(requests, out, soon());
    EXPECT_EQ(out[0]->kind, BeginOutcome::Kind::in_progress) << "its owner may be the one who holds the file";
    EXPECT_EQ(out[1]->kind, BeginOutcome::Kind::finished);
    ASSERT_FALSE(out[2]);
    EXPECT_EQ(out[2].error().kind(), ErrorKind::overloaded);
    EXPECT_EQ(out[3]->kind, BeginOutcome::Kind::in_progress);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(begin(*session_, "done", owner(5))->kind, BeginOutcome::Kind::finished);
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(300))
        << "a replay alone doesn't wait for the lock";
    other.run("ROLLBACK");
    EXPECT_FALSE(there("fresh"));
}

TEST_F(SqliteLocked, deadline_is_kept) {
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    for (const int millis : {0, 30, 120}) {
        const auto start = std::chrono::steady_clock::now();
        EXPECT_FALSE(begin(*session_, "k", owner(1), in(milliseconds(millis))));
        EXPECT_FALSE(renew(*session_, "k", 1, owner(1), in(milliseconds(millis))));
        EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(2 * millis + 1000));
    }
}

TEST_F(SqliteLocked, owner_renews_late_after_a_long_transaction_and_nobody_got_in_between) {
    BeginRequest request = begin_request("k", owner(1));
    request.lease_millis = 20;
    const auto begun = begin(*session_, request);
    ASSERT_TRUE(begun);
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    BeginRequest rival = begin_request("k", owner(2));
    rival.take_over_lease = true;
    EXPECT_FALSE(renew(*session_, "k", begun->version, owner(1), in(milliseconds(50))));
    EXPECT_EQ(begin(*session_, rival, in(milliseconds(100)))->kind, BeginOutcome::Kind::in_progress);
    other.run("COMMIT");
    EXPECT_EQ(renew(*session_, "k", begun->version, owner(1))->kind, RenewOutcome::Kind::renewed);
    EXPECT_EQ(begin(*session_, rival)->kind, BeginOutcome::Kind::in_progress);
}

TEST_F(SqliteLocked, recovery_that_waited_for_a_long_transaction_itself_leaves_owners_the_time_to_renew) {
    BeginRequest request = begin_request("k", owner(1));
    request.lease_millis = 150;
    const auto begun = begin(*session_, request);
    ASSERT_TRUE(begun);
    BeginRequest gone = begin_request("gone", owner(2));
    gone.lease_millis = 150;
    ASSERT_TRUE(begin(*session_, gone));
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    std::this_thread::sleep_for(milliseconds(160));  // over by the clock: recovery finds it, and asks for the file
    std::thread holder([&] {
        std::this_thread::sleep_for(milliseconds(200));
        other.run("COMMIT");
    });
    const auto recovered = session_->recover({}, soon());
    holder.join();
    ASSERT_TRUE(recovered) << recovered.error().text();
    EXPECT_EQ(recovered->size(), 0U);
    EXPECT_EQ(renew(*session_, "k", begun->version, owner(1))->kind, RenewOutcome::Kind::renewed);
    std::this_thread::sleep_for(milliseconds(400));
    EXPECT_EQ(session_->recover({}, soon())->size(), 1U) << "patience ends";
}

TEST_F(SqliteLocked, short_stall_after_a_long_one_gives_its_own_grace) {
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(renew(*session_, "none", 1, owner(9), in(milliseconds(400))));
    other.run("COMMIT");
    BeginRequest request = begin_request("k", owner(1));
    request.lease_millis = 250;
    const auto begun = begin(*session_, request);
    ASSERT_TRUE(begun);
    other.run("BEGIN IMMEDIATE");
    EXPECT_FALSE(renew(*session_, "k", begun->version, owner(1), in(milliseconds(350))));
    other.run("COMMIT");
    EXPECT_EQ(session_->recover({}, soon())->size(), 0U);
    BeginRequest rival = begin_request("k", owner(2));
    rival.take_over_lease = true;
    const auto refused = begin(*session_, rival);
    EXPECT_EQ(refused->kind, BeginOutcome::Kind::in_progress);
    EXPECT_GT(refused->remaining_millis, 0) << "when to ask again";
    EXPECT_EQ(renew(*session_, "k", begun->version, owner(1))->kind, RenewOutcome::Kind::renewed);
}

// A begin has a connection, a commit and a snapshot of its own (a commit that meets SQLITE_BUSY: `lock_is_busy` above).
TEST_F(SqliteLocked, C45_a_transaction_of_the_caller_decides_nothing_and_is_not_harmed) {
    Sql caller(path());
    caller.run("BEGIN");
    EXPECT_EQ(caller.number("SELECT count(*) FROM idempotent_record"), 0);
    const auto version = acquire("k", owner(1));
    ASSERT_TRUE(finish(*session_, "k", version, owner(1))->applied);
    EXPECT_EQ(caller.number("SELECT count(*) FROM idempotent_record"), 0) << "by its snapshot there is no winner yet";
    EXPECT_EQ(begin(*session_, "k", owner(2))->kind, BeginOutcome::Kind::finished) << "no row there is no 'go'";
    caller.run("COMMIT");

    caller.run("BEGIN IMMEDIATE");
    caller.run("INSERT INTO orders VALUES ('o', 1)");
    EXPECT_EQ(sqlite3_exec(caller.get(), "INSERT INTO idempotent_record SELECT * FROM idempotent_record", nullptr,
                           nullptr, nullptr),
              SQLITE_CONSTRAINT);
    EXPECT_EQ(begin(*session_, "k", owner(2))->kind, BeginOutcome::Kind::finished);
    const auto fresh = begin(*session_, "fresh", owner(2));
    ASSERT_FALSE(fresh) << "neither a duplicate nor claimed";
    EXPECT_EQ(fresh.error().kind(), ErrorKind::overloaded);
    EXPECT_EQ(caller.number("SELECT count(*) FROM idempotent_record"), 1) << "its transaction goes on";
    caller.run("COMMIT");
    EXPECT_EQ(orders(), 1);
    EXPECT_EQ(begin(*session_, "fresh", owner(2))->kind, BeginOutcome::Kind::acquired);
}

TEST_F(SqliteLocked, S54_waiter_in_another_handle_is_woken_by_the_commit) {
    const auto there = sqlite::store(path_options());
    const auto version = acquire("k", owner(1));
    while (there->wait_for_change(in(milliseconds(5)))) {}
    std::promise<void> waiting;
    auto woken = std::async(std::launch::async, [&] {
        waiting.set_value();
        return there->wait_for_change(soon());
    });
    waiting.get_future().wait();
    ASSERT_TRUE(finish(*session_, "k", version, owner(1))->applied);
    EXPECT_TRUE(woken.get());
    EXPECT_FALSE(there->wait_for_change(in(milliseconds(20)))) << "and only once";
}

// The log is written, then flushed, and only then the commit can be seen: a waiter that looked once after the write
// would next look when its poll comes, a quarter of a second later.
TEST_F(SqliteFaultKinds, S54_a_commit_with_a_slow_flush_is_heard_when_it_is_there_and_not_at_the_next_poll) {
    constexpr milliseconds poll(250), flush(60);
    sqlite::Options plain;
    plain.path = path();
    const auto there = sqlite::store(plain);
    std::vector<std::chrono::steady_clock::duration> late;
    for (int round = 0; round < 7; ++round) {
        const std::string key = "k" + std::to_string(round);
        const auto version = acquire(key, owner(1));
        while (there->wait_for_change(in(milliseconds(5)))) {}
        std::promise<void> waiting;
        auto woken = std::async(std::launch::async, [&] {
            waiting.set_value();
            const bool changed = there->wait_for_change(soon());
            return std::pair(changed, std::chrono::steady_clock::now());
        });
        waiting.get_future().wait();
        FaultVfs::slow_flushes(flush);
        ASSERT_TRUE(finish(*session_, key, version, owner(1))->applied);
        const auto committed = std::chrono::steady_clock::now();
        FaultVfs::heal();
        const auto [changed, at] = woken.get();
        ASSERT_TRUE(changed);
        late.push_back(at - committed);
    }
    std::sort(late.begin(), late.end());
    EXPECT_LT(late[late.size() / 2], poll / 2);
}

// ---- a disk that is really full

/// A file system of its own with little room, where this process may mount one.
class SmallDisk {
public:
    explicit SmallDisk(const std::string& at) : at_(at) {
        std::filesystem::create_directory(at_);
        mounted_ = mount("nebis", at_.c_str(), "tmpfs", 0, "size=1m") == 0;
    }
    ~SmallDisk() {
        if (mounted_) umount(at_.c_str());
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool mounted() const { return mounted_; }

private:
    std::string at_;
    bool mounted_ = false;
};

TEST(SqliteFullDisk, F35_new_keys_are_refused_replays_served_and_it_recovers_by_itself) {
    const TemporaryFolder folder;
    const SmallDisk disk(folder.file("disk"));
    sqlite::Options options;
    options.path = folder.file("disk/r.db");
    options.create_schema = true;
    if (!disk.mounted()) options.vfs = FaultVfs::name();  // where nothing may be mounted, the shim fills up
    auto store = sqlite::store(options);
    ASSERT_TRUE(store->verify(soon()));
    auto session = *store->open(soon());
    const std::string ballast(20'000, 'x');
    if (!disk.mounted()) FaultVfs::fail(Operation::write, 300, SQLITE_FULL, true);
    std::vector<std::string> begun;
    std::optional<Error> refused;
    for (int i = 0; i < 500 && !refused; ++i) {
        const std::string key = "k" + std::to_string(i);
        BeginRequest request = begin_request(key, owner(static_cast<unsigned>(i)));
        request.request_snapshot = ballast;
        auto out = begin(*session, request);
        if (out)
            begun.push_back(key);
        else
            refused = std::move(out).error();
    }
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->kind(), ErrorKind::unavailable) << refused->text();
    EXPECT_EQ(refused->code(), "sqlite-full");
    ASSERT_FALSE(begun.empty());
    for (const auto& key : begun) EXPECT_TRUE(find(*session, key)->record) << key;
    EXPECT_EQ(begin(*session, begun.front(), owner(999))->kind, BeginOutcome::Kind::in_progress);

    FaultVfs::heal();
    if (disk.mounted()) {
        ASSERT_EQ(mount("nebis", folder.file("disk").c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
    }
    EXPECT_EQ(begin(*session, "room again", owner(1))->kind, BeginOutcome::Kind::acquired);
}

}  // namespace
