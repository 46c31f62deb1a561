// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nebis::bench {

/// The rows that a fresh request costs, without Nebis: one connection, prepared statements, the very table of
/// `stores/sqlite/schema.sql`, every column filled with as many bytes as the product fills it with, the same durability
/// (write-ahead log, `synchronous=FULL`). No hashing, no queue, no conflict looked for, no thread but the caller's:
/// what is left is SQLite and the disk.
class SqliteFloor {
public:
    /// `trace_prefix`: what the product puts before a key in `trace_id`; `response`: the blob it keeps.
    SqliteFloor(const std::string& file, std::string trace_prefix, std::string response);
    ~SqliteFloor();
    SqliteFloor(const SqliteFloor&) = delete;
    SqliteFloor& operator=(const SqliteFloor&) = delete;

    void begin_transaction() { step(begin_); }
    void commit() { step(commit_); }
    /// The row as `begin` leaves it; gives its version.
    std::int64_t insert(std::string_view key);
    /// The row as `finish` leaves it: a compare-and-set on version, owner and status.
    void update(std::string_view key, std::int64_t version);
    /// The row as an `atomic` transaction that claims inside leaves it, written once.
    void insert_finished(std::string_view key);

    void execute(const std::string& sql);
    sqlite3* connection() const noexcept { return db_; }

private:
    sqlite3_stmt* prepare(const char* sql);
    void step(sqlite3_stmt* statement);
    std::int64_t insert(sqlite3_stmt* statement, std::string_view key, std::int64_t lease);
    void bind_trace_id(sqlite3_stmt* statement, std::string_view key);

    sqlite3* db_ = nullptr;
    sqlite3_stmt* begin_ = nullptr;
    sqlite3_stmt* commit_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
    sqlite3_stmt* insert_finished_ = nullptr;
    sqlite3_stmt* update_ = nullptr;
    std::int64_t last_version_ = 0;
    std::size_t prefix_size_;
    std::string trace_id_;
    std::string response_;
};

}  // namespace nebis::bench
