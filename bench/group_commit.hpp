// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_floor.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nebis::bench {

/// The least that somebody must write by hand to let callers share commits: rows wait in a list, one thread writes all
/// that wait in one transaction of the floor and tells their callers. No conflict, no deadline, no limit, no error is
/// thought of; what it loses against the floor is the price of having callers at all.
class GroupCommit {
public:
    struct Row {
        std::string key;
        std::int64_t version = 0;    ///< 0: to be inserted, which sets it; else to be finished
        std::function<void()> done;  ///< on the committing thread
    };

    explicit GroupCommit(SqliteFloor& floor);
    ~GroupCommit();
    GroupCommit(const GroupCommit&) = delete;
    GroupCommit& operator=(const GroupCommit&) = delete;

    /// `row` must live until `done`.
    void submit(Row& row);

private:
    void work();

    SqliteFloor& floor_;
    std::mutex mutex_;
    std::condition_variable ready_;
    std::vector<Row*> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace nebis::bench
