// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <sstream>

/// A duplicate that waits in another process hears of the finish when it happens, not at its next look (S54).
namespace nebis {
namespace {

using namespace testkit;
using std::chrono::milliseconds;

/// The other process, and a line to talk to it.
class Waiter {
public:
    explicit Waiter(const std::string& database) {
        int in[2], out[2];
        signal(SIGPIPE, SIG_IGN);  // a process that is gone is a failed write
        if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
        child_ = fork();
        if (child_ == 0) {
            if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0) _exit(127);
            execl(WAITING_WORKER, WAITING_WORKER, database.c_str(), nullptr);
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }
    ~Waiter() {
        close(to_);  // the end of its input is the end of it
        close(from_);
        int status = 0;
        EXPECT_EQ(waitpid(child_, &status, 0), child_);
        EXPECT_EQ(status, 0);
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void say(const std::string& line) {
        const std::string text = line + "\n";
        EXPECT_EQ(write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
    /// The next line; empty when none came in time.
    std::string hear() {
        for (;;) {
            if (const auto end = heard_.find('\n'); end != std::string::npos) {
                std::string line = heard_.substr(0, end);
                heard_.erase(0, end + 1);
                return line;
            }
            pollfd one{from_, POLLIN, 0};
            char bytes[256];
            const ssize_t size = poll(&one, 1, 40'000) > 0 ? read(from_, bytes, sizeof bytes) : 0;
            if (size <= 0) return {};
            heard_.append(bytes, static_cast<std::size_t>(size));
        }
    }

private:
    pid_t child_ = -1;
    int to_ = -1, from_ = -1;
    std::string heard_;
};

long long monotonic_nanos() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

TEST(WakingProcesses, S54_a_duplicate_in_another_process_is_woken_by_the_finish_and_not_by_a_poll) {
    // Without a word of the finish the duplicate looks again when the lease is over, after a minute; and the store, if
    // it heard nothing from the kernel, after a quarter of a second. The finish comes as soon as the duplicate waits,
    // so either poll would be late by nearly its whole interval.
    constexpr milliseconds shortest_poll(250);
    constexpr int rounds = 21;
    Folder folder;
    const std::string database = folder.file("race.db");
    const Engine owner = engine_on(sqlite_store(database));
    Policy policy;
    policy.operation = "race";
    policy.key = header("Idempotency-Key");
    const Operation operation = owner.operation(policy).value();
    Waiter waiter(database);
    std::vector<long long> late_nanos;
    for (int round = 0; round < rounds; ++round) {
        const std::string key = "k" + std::to_string(round);
        const Answer first = owner.run(operation, request_with(key), Handler([&](const Request&, Execution&) {
                                           waiter.say(key);
                                           EXPECT_EQ(waiter.hear(), "waits");
                                           return Response{201, {}, key, false};
                                       }));
        const long long finished = monotonic_nanos();
        ASSERT_EQ(first.outcome, Outcome::fresh);
        std::istringstream heard(waiter.hear());
        std::string outcome, body;
        long long answered = 0;
        heard >> outcome >> answered >> body;
        ASSERT_EQ(outcome, "replayed") << "round " << round;
        ASSERT_EQ(body, key);
        late_nanos.push_back(answered - finished);
    }
    std::sort(late_nanos.begin(), late_nanos.end());
    const auto median = std::chrono::nanoseconds(late_nanos[rounds / 2]);
    RecordProperty("median_micros", std::to_string(median.count() / 1000));
    RecordProperty("latest_micros", std::to_string(late_nanos.back() / 1000));
    EXPECT_LT(median, shortest_poll / 2);
}

}  // namespace
}  // namespace nebis
