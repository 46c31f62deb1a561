// SPDX-License-Identifier: Apache-2.0
#include "group_commit.hpp"

namespace nebis::bench {

GroupCommit::GroupCommit(SqliteFloor& floor) : floor_(floor), thread_([this] { work(); }) {}

GroupCommit::~GroupCommit() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    ready_.notify_one();
    thread_.join();
}

void GroupCommit::submit(Row& row) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = waiting_.empty();
        waiting_.push_back(&row);
    }
    if (first) ready_.notify_one();
}

void GroupCommit::work() {
    std::vector<Row*> batch;
    while (true) {
        {
            std::unique_lock lock(mutex_);
            ready_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
        }
        // Those who were just told get their turn to add to this batch.
        std::this_thread::yield();
        {
            const std::lock_guard lock(mutex_);
            batch.swap(waiting_);
        }
        floor_.begin_transaction();
        for (Row* row : batch) {
            if (row->version)
                floor_.update(row->key, row->version);
            else
                row->version = floor_.insert(row->key);
        }
        floor_.commit();
        for (Row* row : batch) row->done();
        batch.clear();
    }
}

}  // namespace nebis::bench
