// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "identify/digest.hpp"

namespace nebis::sqlite {

Error error_of(int code, std::string_view doing, std::string detail) {
    const auto make = [&](ErrorKind kind, std::string_view why, std::string hint, std::string word) {
        std::string message = "SQLite could not ";
        message.append(doing).append(": ").append(why);
        return Error(kind, std::move(message), detail, std::move(hint)).with_code(std::move(word));
    };
    switch (code & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
            return make(ErrorKind::overloaded, "another transaction holds the file",
                        "keep transactions on this file short; `busy-timeout-millis` bounds the wait", "sqlite-busy");
        case SQLITE_FULL:
            return make(ErrorKind::unavailable, "the disk is full", "free space on the disk of the database file",
                        "sqlite-full");
        case SQLITE_IOERR:
            return make(ErrorKind::unavailable, "the disk failed",
                        "look at the kernel's log and the disk of the database file", "sqlite-io");
        case SQLITE_INTERRUPT: return make(ErrorKind::unavailable, "it took too long", {}, "sqlite-interrupted");
        case SQLITE_NOMEM: return make(ErrorKind::unavailable, "out of memory", {}, "sqlite-memory");
        case SQLITE_CANTOPEN:
            return make(ErrorKind::unavailable, "the file can't be opened",
                        "check that the folder of `path` exists and that this user may write in it", "sqlite-cantopen");
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            return make(ErrorKind::misconfigured, "the file is read-only",
                        "let this user write the database file, its -wal and -shm files and their folder",
                        "sqlite-readonly");
        case SQLITE_CORRUPT:
            return make(ErrorKind::corrupt, "the file is damaged",
                        "stop, keep a copy, run `PRAGMA integrity_check`, restore a backup", "sqlite-corrupt");
        case SQLITE_NOTADB:
            return make(ErrorKind::corrupt, "the file is not a SQLite database", "check `path`", "sqlite-notadb");
        case SQLITE_TOOBIG: return make(ErrorKind::rejected_input, "the row is too large", {}, "sqlite-toobig");
        case SQLITE_CONSTRAINT:
            return make(
                ErrorKind::misconfigured, "a constraint that is not ours refused the row",
                "compare the table with schema.sql: no further constraint, index or trigger may refuse a record",
                "sqlite-constraint");
        case SQLITE_ERROR:
        case SQLITE_SCHEMA:
            return make(ErrorKind::misconfigured, "the table is not as it must be", "run `nebis migrate up`",
                        "sqlite-schema");
        default:
            return make(ErrorKind::internal, "it answered something unexpected", {}, "sqlite-" + std::to_string(code));
    }
}

Error error_of(sqlite3* connection, std::string_view doing) {
    return error_of(sqlite3_extended_errcode(connection), doing, sqlite3_errmsg(connection));
}

bool commit_surely_failed(int code) noexcept {
    switch (code & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_FULL:
        case SQLITE_READONLY:
        case SQLITE_CONSTRAINT:  // a commit hook's veto, a deferred foreign key
        case SQLITE_INTERRUPT: return true;
        default: return code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_READ;
    }
}

bool connection_is_spent(int code) noexcept {
    switch (code & 0xFF) {
        case SQLITE_IOERR:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_NOMEM:
        case SQLITE_INTERNAL:
        case SQLITE_MISUSE: return true;
        default: return false;
    }
}

bool only_this_row(int code) noexcept {
    switch (code & 0xFF) {
        case SQLITE_CONSTRAINT:
        case SQLITE_TOOBIG:
        case SQLITE_MISMATCH: return true;
        default: return false;
    }
}

}  // namespace nebis::sqlite
