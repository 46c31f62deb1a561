// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace nebis::sqlite {

/// A prepared statement that is kept. Bound views must live until the next `reset`.
class Statement {
public:
    Statement() = default;
    Statement(Statement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
    Statement& operator=(Statement&& other) noexcept {
        std::swap(statement_, other.statement_);
        return *this;
    }
    ~Statement() { sqlite3_finalize(statement_); }

    int prepare(sqlite3* connection, std::string_view sql) {
        sqlite3_finalize(std::exchange(statement_, nullptr));
        return sqlite3_prepare_v3(connection, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                  &statement_, nullptr);
    }
    bool prepared() const noexcept { return statement_ != nullptr; }

    void bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_, at, value); }
    void bind_text(int at, std::string_view text) {
        sqlite3_bind_text64(statement_, at, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    void bind_blob(int at, std::string_view bytes) {
        sqlite3_bind_blob64(statement_, at, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_STATIC);
    }
    void bind_blob(int at, std::span<const unsigned char> bytes) {
        sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_STATIC);
    }
    void bind_null(int at) { sqlite3_bind_null(statement_, at); }

    /// SQLITE_ROW, SQLITE_DONE, or the error.
    int step() { return sqlite3_step(statement_); }
    /// A RETURNING row, and every lock of a lone statement, count only from here on.
    int reset() { return sqlite3_reset(statement_); }

    int width() const { return sqlite3_column_count(statement_); }
    std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
    bool is_number(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
    bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
    std::string_view bytes(int column) const {
        const void* data = sqlite3_column_blob(statement_, column);
        if (!data) return {};
        return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
    }

private:
    sqlite3_stmt* statement_ = nullptr;
};

/// Resets at the end of a block, whatever the way out.
class Resetting {
public:
    explicit Resetting(Statement& statement) : statement_(statement) {}
    ~Resetting() { statement_.reset(); }
    Resetting(const Resetting&) = delete;
    Resetting& operator=(const Resetting&) = delete;

private:
    Statement& statement_;
};

}  // namespace nebis::sqlite
