// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include "errors.hpp"
#include "rows.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace nebis::sqlite {
namespace {

// Measured: the log is copied back to the file by the committing thread; larger steps copy hot pages less often.
constexpr const char* settings_of_each_connection =
    "PRAGMA wal_autocheckpoint = 2000;"
    "PRAGMA journal_size_limit = 67108864;";

int step_once(Statement& statement, sqlite3* handle, const char* sql) {
    if (!statement.prepared())
        if (const int code = statement.prepare(handle, sql); code != SQLITE_OK) return code;
    const int code = statement.step();
    statement.reset();
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Options& options, bool create, Deadline deadline) {
    sqlite3* handle = nullptr;
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (create ? SQLITE_OPEN_CREATE : 0);
    const int opened =
        sqlite3_open_v2(options.path.c_str(), &handle, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
    if (!handle) return error_of(SQLITE_NOMEM, "open the database file", {});
    std::unique_ptr<Connection> connection(new Connection(handle));
    if (opened != SQLITE_OK) return error_of(handle, "open the database file");

    // Four B-trees are opened for each row written; their cursors and records outgrow SQLite's usual slots and would go
    // through malloc.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_LOOKASIDE, nullptr, 4352, 64);
    connection->wait_until(deadline);
    sqlite3_busy_handler(handle, &Connection::on_busy, connection.get());
    // A file that others may have written is read with suspicion: no view, trigger or default of it may call a function
    // with side effects.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    if (create && connection->switch_to_write_ahead_log() != SQLITE_OK)
        return error_of(handle, "switch the file to write-ahead logging");
    if (connection->run(settings_of_each_connection) != SQLITE_OK ||
        connection->run(options.synchronous == Synchronous::full ? "PRAGMA synchronous = FULL"
                                                                 : "PRAGMA synchronous = NORMAL") != SQLITE_OK)
        return error_of(handle, "read the database file");
    return connection;
}

Connection::Connection(sqlite3* handle) : handle_(handle) {}

Connection::~Connection() {
    rows_.clear();
    for (Statement* one : {&begin_immediate_, &begin_read_, &commit_, &savepoint_, &release_}) *one = Statement();
    sqlite3_close_v2(handle_);
}

int Connection::run(const char* sql) const noexcept { return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }

int Connection::switch_to_write_ahead_log() {
    while (true) {
        const int code = run("PRAGMA journal_mode = WAL");
        if ((code & 0xFF) != SQLITE_BUSY || std::chrono::steady_clock::now() >= wait_until_) return code;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

int Connection::begin_immediate() { return step_once(begin_immediate_, handle_, "BEGIN IMMEDIATE"); }
int Connection::begin_read() { return step_once(begin_read_, handle_, "BEGIN"); }
int Connection::commit() { return step_once(commit_, handle_, "COMMIT"); }

int Connection::begin_body() { return step_once(savepoint_, handle_, "SAVEPOINT nebis_body"); }

int Connection::end_body(bool keep) {
    if (!keep)
        if (const int code = run("ROLLBACK TO nebis_body"); code != SQLITE_OK) return code;
    return step_once(release_, handle_, "RELEASE nebis_body");
}

void Connection::rollback() noexcept {
    if (in_transaction()) run("ROLLBACK");
}

Result<Rows*> Connection::rows(const std::string& table) {
    auto& rows = rows_[table];
    if (!rows) {
        auto made = std::make_unique<Rows>();
        if (auto prepared = made->prepare(handle_, table); !prepared) return std::move(prepared).error();
        rows = std::move(made);
    }
    return rows.get();
}

int Connection::on_busy(void* self, int count) {
    using namespace std::chrono;
    const auto rest = static_cast<Connection*>(self)->wait_until_ - steady_clock::now();
    if (rest <= Deadline::duration::zero()) return 0;
    // A commit takes a tenth of a millisecond on a good disk and ten on a bad one: start short, end at 2 ms, scattered.
    thread_local std::minstd_rand scatter{std::random_device{}()};
    const microseconds step(std::min(50 << std::min(count, 6), 2000));
    std::this_thread::sleep_for(std::min<Deadline::duration>(rest, step / 2 + microseconds(scatter() % step.count())));
    return 1;
}

void Connection::guard() noexcept {
    sqlite3_commit_hook(handle_, &Connection::on_commit, this);
    sqlite3_rollback_hook(handle_, &Connection::on_rollback, this);
}

bool Connection::guarded() noexcept {
    // Setting a hook again is the only way to ask whose it was: SQLite answers with the old one's argument.
    return sqlite3_commit_hook(handle_, &Connection::on_commit, this) == this &&
           sqlite3_rollback_hook(handle_, &Connection::on_rollback, this) == this;
}

int Connection::on_commit(void* self) { return static_cast<Connection*>(self)->commit_allowed_ ? 0 : 1; }
void Connection::on_rollback(void* self) { static_cast<Connection*>(self)->rolled_back_ = true; }

}  // namespace nebis::sqlite
