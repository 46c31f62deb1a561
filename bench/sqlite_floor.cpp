// SPDX-License-Identifier: Apache-2.0
#include "sqlite_floor.hpp"

#include "harness.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace nebis::bench {
namespace {

constexpr std::int64_t hour_millis = 3'600'000;

std::int64_t now_millis() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string schema() {
    std::ifstream file(NEBIS_SOURCE_DIR "/stores/sqlite/schema.sql");
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) give_up("stores/sqlite/schema.sql can't be read");
    return std::move(text).str();
}

/// As many bytes as an owner and a hash have, different in each row.
void fill(unsigned char* bytes, std::size_t size, std::int64_t version) {
    auto number = static_cast<std::uint64_t>(version);
    for (std::size_t i = 0; i < size; i += sizeof number) {
        number = (number + 1) * 0x9E3779B97F4A7C15u;
        std::memcpy(bytes + i, &number, std::min(sizeof number, size - i));
    }
}

}  // namespace

SqliteFloor::SqliteFloor(const std::string& file, std::string trace_prefix, std::string response)
    : prefix_size_(trace_prefix.size()), trace_id_(std::move(trace_prefix)), response_(std::move(response)) {
    if (sqlite3_open_v2(file.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK)
        give_up("floor: " + std::string(sqlite3_errmsg(db_)));
    // As the product sets them: the floor is SQLite at its best, not at its defaults.
    execute(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=2000; PRAGMA "
        "journal_size_limit=67108864");
    execute(schema());
    begin_ = prepare("BEGIN IMMEDIATE");
    commit_ = prepare("COMMIT");
    insert_ = prepare(
        "INSERT INTO idempotent_record (trace_id, biz_type, status, version, owner, attempts, request_hash, "
        "lease_expire_time,"
        " expire_time, create_time, update_time, instance) VALUES (?1, 'createOrder', 0, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?7,"
        " 'bench-host-1-4242')");
    insert_finished_ = prepare(
        "INSERT INTO idempotent_record (trace_id, biz_type, status, version, owner, attempts, request_hash, "
        "lease_expire_time,"
        " expire_time, create_time, update_time, instance, response_body) VALUES (?1, 'createOrder', 1, ?2, ?3, 1, ?4,"
        " ?5, ?6, ?7, ?7, 'bench-host-1-4242', ?8)");
    update_ = prepare(
        "UPDATE idempotent_record SET status = 1, response_body = ?4, lease_expire_time = ?5, expire_time = ?6, "
        "update_time = ?5"
        " WHERE trace_id = ?1 AND version = ?2 AND owner = ?3 AND status = 0");
}

SqliteFloor::~SqliteFloor() {
    for (auto* statement : {begin_, commit_, insert_, insert_finished_, update_}) sqlite3_finalize(statement);
    sqlite3_close(db_);
}

void SqliteFloor::execute(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        give_up("floor: " + std::string(sqlite3_errmsg(db_)) + " in " + sql.substr(0, 60));
}

sqlite3_stmt* SqliteFloor::prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
        give_up("floor: " + std::string(sqlite3_errmsg(db_)));
    return statement;
}

void SqliteFloor::step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_DONE) give_up("floor: " + std::string(sqlite3_errmsg(db_)));
    sqlite3_reset(statement);
}

void SqliteFloor::bind_trace_id(sqlite3_stmt* statement, std::string_view key) {
    trace_id_.replace(prefix_size_, std::string::npos, key);
    sqlite3_bind_blob(statement, 1, trace_id_.data(), static_cast<int>(trace_id_.size()), SQLITE_STATIC);
}

std::int64_t SqliteFloor::insert(std::string_view key) { return insert(insert_, key, 30'000); }

void SqliteFloor::insert_finished(std::string_view key) {
    sqlite3_bind_blob(insert_finished_, 8, response_.data(), static_cast<int>(response_.size()), SQLITE_STATIC);
    insert(insert_finished_, key, 0);
}

std::int64_t SqliteFloor::insert(sqlite3_stmt* statement, std::string_view key, std::int64_t lease) {
    const std::int64_t now = now_millis();
    const std::int64_t version = last_version_ = std::max(now * 1000, last_version_ + 1);
    unsigned char owner[16];
    unsigned char hash[33];
    fill(owner, sizeof owner, version);
    fill(hash, sizeof hash, version);
    bind_trace_id(statement, key);
    sqlite3_bind_int64(statement, 2, version);
    sqlite3_bind_blob(statement, 3, owner, sizeof owner, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 4, hash, sizeof hash, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 5, now + lease);
    sqlite3_bind_int64(statement, 6, now + 24 * hour_millis);
    sqlite3_bind_int64(statement, 7, now);
    step(statement);
    return version;
}

void SqliteFloor::update(std::string_view key, std::int64_t version) {
    const std::int64_t now = now_millis();
    unsigned char owner[16];
    fill(owner, sizeof owner, version);
    bind_trace_id(update_, key);
    sqlite3_bind_int64(update_, 2, version);
    sqlite3_bind_blob(update_, 3, owner, sizeof owner, SQLITE_STATIC);
    sqlite3_bind_blob(update_, 4, response_.data(), static_cast<int>(response_.size()), SQLITE_STATIC);
    sqlite3_bind_int64(update_, 5, now);
    sqlite3_bind_int64(update_, 6, now + 24 * hour_millis);
    step(update_);
    if (sqlite3_changes(db_) != 1) give_up("floor: the row to finish isn't there");
}

}  // namespace nebis::bench
