// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/store.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Records in a SQLite file: nothing to install or start. Many threads and several processes of one machine may share
/// the file (not over a network file system: SQLite's own rule). Write-ahead log, `synchronous=FULL` unless said
/// otherwise.
namespace nebis::sqlite {

enum class Synchronous : std::uint8_t {
    full,    ///< a commit is on the disk when it returns
    normal,  ///< much faster; the last commits may be lost when the *machine* stops, never when a process does
};

struct Options {
    /// The database file; its folder must exist and be writable. Beside it lie SQLite's own `-wal` and `-shm`, and
    /// `-stall`: when the file was last held for long, for all processes that share it.
    std::string path;
    Synchronous synchronous = Synchronous::full;
    /// Longest wait for the file's one write lock; a caller's deadline may be shorter.
    std::chrono::milliseconds busy_timeout{5000};
    std::size_t connections = 4;  ///< most connections for `atomic` and `borrow` at a time
    bool create_schema = false;  ///< make file and tables when they are missing, whenever a store is verified or opened
    std::function<StoreMillis()> clock = {};  ///< for tests; empty: the system clock
    std::string vfs = {};                     ///< for tests; empty: SQLite's default
};

namespace detail {
class File;
}

/// One SQLite file: what its record tables, its `atomic` operations and the business share. Nothing is opened before it
/// is needed.
/// **Threads**: safe. **Lifetime**: a copyable handle; the connections live as long as any copy, store or runner made
/// from it.
class Database {
public:
    explicit Database(Options options);
    explicit Database(std::string path) : Database(Options{.path = std::move(path)}) {}

    const std::string& path() const noexcept;

    /// A connection of the business pool, back in the pool when the last copy of the pointer goes. It can't commit
    /// while `atomic` bodies of the same thread run. **Time**: waits for a free one until the deadline. **Errors**:
    /// `overloaded`, or why the file can't be opened.
    Result<std::shared_ptr<sqlite3>> borrow(Deadline deadline) const;

    const std::shared_ptr<detail::File>& file() const noexcept { return file_; }  ///< for this driver

private:
    std::shared_ptr<detail::File> file_;
};

/// The record table of that name in this file. A name other than [a-z0-9_]{1,63} is refused by `verify` and `open`.
std::shared_ptr<Store> store(const Database& database, std::string table = "idempotent_record");
inline std::shared_ptr<Store> store(Options options, std::string table = "idempotent_record") {
    return store(Database(std::move(options)), std::move(table));
}

/// Registers the store driver "sqlite" and its settings. Data sources of one path share one Database.
void add_to(Drivers& drivers);

/// Runs bodies inside transactions of this file that also carry the record.
std::shared_ptr<TransactionRunner> runner(const Database& database);

/// A body that writes its whole effect through the `sqlite3*` it is given: effect and record commit together or not at
/// all. The body must not end the transaction, and must not call another protected operation on the same file.
/// `body(request or arguments …, sqlite3*, Execution&)`, as engine.hpp and the HTTP server describe it.
template <class Body>
Atomic<sqlite3*, std::decay_t<Body>> atomic(const Database& database, Body&& body) {
    return {runner(database), std::forward<Body>(body)};
}

/// The bare piece for code that must own its transaction: writes the record's end through `transaction`, which must be
/// open and must have begun IMMEDIATE. Commit it, and effect and record are there together; roll back, and neither is.
/// **Errors**: code "fenced-off" when the record isn't this attempt's any more: roll back. `misconfigured` when no
/// transaction is open.
Result<void> finish_in(const Execution& execution, sqlite3* transaction, const Response& response,
                       const FinishIn& how = {});

}  // namespace nebis::sqlite
