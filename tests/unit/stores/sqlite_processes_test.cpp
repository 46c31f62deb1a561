// SPDX-License-Identifier: Apache-2.0
#include "sqlite_bench.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

// Several processes and many threads on one file. The processes are programs of their own, started by exec.
namespace {

using namespace nebis;
using namespace nebis::test;
using std::chrono::milliseconds;

/// A started helper whose standard output goes to a file.
class Helper {
public:
    Helper(const std::string& output, std::vector<std::string> arguments) : output_(output) {
        arguments.insert(arguments.begin(), NEBIS_SQLITE_HELPER);
        std::vector<char*> raw;
        for (auto& one : arguments) raw.push_back(one.data());
        raw.push_back(nullptr);
        pid_ = fork();
        if (pid_ == 0) {
            const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (out < 0 || dup2(out, STDOUT_FILENO) < 0) _exit(127);
            execv(raw[0], raw.data());
            _exit(127);
        }
    }
    ~Helper() {
        if (pid_ > 0) kill_now();
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    void kill_now() {
        kill(pid_, SIGKILL);
        wait();
    }
    /// The exit status, or -1 when a signal ended it.
    int wait() {
        int status = 0;
        waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::vector<std::string> lines() const {
        std::ifstream file(output_);
        std::vector<std::string> all;
        for (std::string line; std::getline(file, line);) all.push_back(line);
        return all;
    }

private:
    std::string output_;
    pid_t pid_ = -1;
};

class SqliteProcesses : public SqliteTest {
protected:
    static sqlite::Options quick() {
        sqlite::Options options;
        options.synchronous = sqlite::Synchronous::normal;
        options.busy_timeout = std::chrono::seconds(60);
        return options;
    }
    SqliteProcesses() : SqliteTest(quick()) {}

    void race(int processes, int threads, int keys) {
        std::vector<std::unique_ptr<Helper>> helpers;
        for (int p = 0; p < processes; ++p)
            helpers.push_back(std::make_unique<Helper>(
                folder_.file("out" + std::to_string(p)),
                std::vector<std::string>{"race", path(), std::to_string(threads), std::to_string(keys)}));
        std::map<std::string, int> winners;
        for (auto& helper : helpers) {
            EXPECT_EQ(helper->wait(), 0);
            for (const auto& line : helper->lines()) {
                std::istringstream words(line);
                std::string won, key, version;
                words >> won >> key >> version;
                ++winners[key];
                EXPECT_EQ(std::to_string(row(key).version), version) << key;
            }
        }
        EXPECT_EQ(winners.size(), static_cast<std::size_t>(keys)) << "each key was acquired";
        for (const auto& [key, count] : winners) EXPECT_EQ(count, 1) << key << " was acquired more than once";
        EXPECT_EQ(Sql(path()).number("SELECT count(*) FROM idempotent_record WHERE status = 1"), keys);
        EXPECT_EQ(Sql(path()).text("PRAGMA integrity_check"), "ok");
    }
};

TEST_F(SqliteProcesses, four_processes_of_sixteen_threads_hot_keys) { race(4, 16, 3); }

TEST_F(SqliteProcesses, four_processes_of_sixteen_threads_cold_keys) { race(4, 16, 40); }

TEST_F(SqliteProcesses, sixty_four_threads_one_key_many_rounds) {
    constexpr int threads = 64, rounds = 20;
    std::vector<std::unique_ptr<StoreSession>> sessions;
    for (int t = 0; t < threads; ++t) sessions.push_back(open(*store_));
    std::vector<std::atomic<int>> winners(rounds);
    std::atomic<int> failures{0};
    std::barrier together(threads);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            for (int round = 0; round < rounds; ++round) {
                together.arrive_and_wait();
                const auto out = begin(*sessions[static_cast<std::size_t>(t)], "k" + std::to_string(round),
                                       owner(static_cast<unsigned>(t + 1)), in(std::chrono::seconds(50)));
                if (!out)
                    ++failures;
                else if (out->kind == BeginOutcome::Kind::acquired)
                    ++winners[static_cast<std::size_t>(round)];
            }
        });
    for (auto& one : all) one.join();
    EXPECT_EQ(failures, 0);
    for (const auto& count : winners) EXPECT_EQ(count, 1);
}

TEST_F(SqliteProcesses, killed_inside_batches_the_file_stays_whole) {
    for (int round = 0; round < 6; ++round) {
        const std::string prefix = "r" + std::to_string(round) + "-";
        Helper helper(folder_.file("kill" + std::to_string(round)), {"batches", path(), prefix});
        const auto until = in(std::chrono::seconds(30));
        while (helper.lines().size() < static_cast<std::size_t>(2 + round * 3) &&
               std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(milliseconds(1));
        helper.kill_now();
        const auto said = helper.lines().size();
        ASSERT_GE(said, 2U);

        Sql db(path());
        EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
        const std::string rows =
            "SELECT count(*) FROM idempotent_record WHERE CAST(trace_id AS TEXT) LIKE '" + prefix + "%'";
        const int there = db.number(rows);
        EXPECT_EQ(there % 64, 0) << "a batch is there whole or not at all";
        EXPECT_GE(there, static_cast<int>(said) * 64) << "what was said to be begun is there";
        EXPECT_EQ(begin(*session_, prefix + "after", owner(1))->kind, BeginOutcome::Kind::acquired)
            << "and the others go on";
        EXPECT_EQ(begin(*session_, prefix + "0-100", owner(1))->kind, BeginOutcome::Kind::in_progress);
    }
}

TEST_F(SqliteProcesses, C15_process_that_comes_after_a_long_transaction_robs_no_owner_that_could_not_renew) {
    BeginRequest request = begin_request("k", owner(1));
    request.lease_millis = 1'500;
    request.operation = "race";
    const auto begun = begin(*session_, request);
    ASSERT_TRUE(begun);
    const auto end = std::chrono::steady_clock::now() + milliseconds(1'600);
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    while (std::chrono::steady_clock::now() < end)
        EXPECT_FALSE(renew(*session_, "k", begun->version, owner(1), in(milliseconds(300))));
    other.run("COMMIT");
    // The lease is over, and this process saw nothing of the wait.
    Helper helper(folder_.file("out"), {"rob", path(), "k"});
    EXPECT_EQ(helper.wait(), 0);
    EXPECT_EQ(helper.lines(), (std::vector<std::string>{"recovered 0", "refused"}));
    EXPECT_EQ(renew(*session_, "k", begun->version, owner(1))->kind, RenewOutcome::Kind::renewed);
}

TEST_F(SqliteProcesses, owner_that_is_gone_is_taken_over_one_lease_after_a_long_transaction) {
    BeginRequest request = begin_request("k", owner(1));
    request.lease_millis = 300;
    request.operation = "race";
    ASSERT_TRUE(begin(*session_, request));
    Sql other(path());
    other.run("BEGIN IMMEDIATE");
    EXPECT_FALSE(renew(*session_, "another", 1, owner(1), in(milliseconds(400))));
    other.run("COMMIT");
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_TRUE(begin(*session_, "another", owner(2)));  // the file is free again from here on
    std::this_thread::sleep_for(milliseconds(350));
    Helper helper(folder_.file("out"), {"rob", path(), "k"});
    EXPECT_EQ(helper.wait(), 0);
    EXPECT_EQ(helper.lines(), (std::vector<std::string>{"recovered 1", "acquired"}));
}

TEST_F(SqliteProcesses, S54_waiter_hears_of_another_process) {
    while (store_->wait_for_change(in(milliseconds(5)))) {}
    Helper helper(folder_.file("out"), {"race", path(), "1", "1"});
    EXPECT_TRUE(store_->wait_for_change(soon()));
    EXPECT_EQ(helper.wait(), 0);
}

}  // namespace
