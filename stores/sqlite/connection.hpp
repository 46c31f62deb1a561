// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/sqlite.hpp"
#include "statement.hpp"

#include <map>
#include <memory>
#include <string>

namespace nebis::sqlite {

class Rows;

/// One SQLite connection set up our way, its busy handler bounded by a deadline, and the statements prepared on it.
class Connection {
public:
    /// `create`: make the file and switch it to write-ahead logging when it isn't there yet.
    static Result<std::unique_ptr<Connection>> open(const Options& options, bool create, Deadline deadline);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    sqlite3* get() const noexcept { return handle_; }

    /// Waiting for another connection's lock ends here. SQLite's own time-out knows only a fixed span, and sleeps in
    /// steps of up to 100 ms.
    void wait_until(Deadline deadline) noexcept { wait_until_ = deadline; }

    /// The result code; the error's text is `sqlite3_errmsg(get())`.
    int run(const char* sql) const noexcept;
    /// Several programs may do it to a new file at the same time, and SQLite doesn't wait there: tried again until
    /// `wait_until`.
    int switch_to_write_ahead_log();
    int begin_immediate();
    int begin_read();
    int commit();
    /// A savepoint around other people's part of the transaction. The end fails when they have ended the transaction.
    int begin_body();
    int end_body(bool keep);
    void rollback() noexcept;  ///< nothing when no transaction is open
    bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }

    /// The statements of one record table, prepared at the first call.
    Result<Rows*> rows(const std::string& table);

    /// From here on a commit is refused unless allowed, and rollbacks are noticed: for connections that run other
    /// people's code.
    void guard() noexcept;
    bool guarded() noexcept;  ///< false: somebody replaced our hooks
    void allow_commit(bool allowed) noexcept { commit_allowed_ = allowed; }
    bool rolled_back() const noexcept { return rolled_back_; }
    void forget_rollback() noexcept { rolled_back_ = false; }

    /// Not to be used again: after a fault that may have left it in any state.
    void spend() noexcept { spent_ = true; }
    bool spent() const noexcept { return spent_; }

private:
    explicit Connection(sqlite3* handle);
    static int on_busy(void* self, int count);
    static int on_commit(void* self);
    static void on_rollback(void* self);

    sqlite3* handle_;
    Deadline wait_until_{};
    Statement begin_immediate_, begin_read_, commit_, savepoint_, release_;
    std::map<std::string, std::unique_ptr<Rows>> rows_;
    bool commit_allowed_ = true;
    bool rolled_back_ = false;
    bool spent_ = false;
};

}  // namespace nebis::sqlite
