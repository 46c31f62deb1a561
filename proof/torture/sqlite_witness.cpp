// SPDX-License-Identifier: Apache-2.0
#include "witness.hpp"

#include <sqlite3.h>

#include <stdexcept>
#include <string_view>

namespace nebis::torture {
namespace {

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

Statement prepare(sqlite3* db, const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
        throw std::runtime_error(std::string("evidence: ") + sqlite3_errmsg(db));
    return {raw, sqlite3_finalize};
}

bool next(sqlite3* db, const Statement& statement) {
    const int code = sqlite3_step(statement.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        throw std::runtime_error(std::string("evidence: ") + sqlite3_errmsg(db));
    return code == SQLITE_ROW;
}

void run(sqlite3* db, const std::string& sql) {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error(std::string("evidence: ") + sqlite3_errmsg(db));
}

std::string bytes(const Statement& statement, int column) {
    const void* data = sqlite3_column_blob(statement.get(), column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement.get(), column));
    return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

std::int64_t number(const Statement& statement, int column) { return sqlite3_column_int64(statement.get(), column); }

std::optional<proof::RowState> row(const Statement& statement, int first) {
    if (sqlite3_column_type(statement.get(), first) == SQLITE_NULL) return {};
    return proof::RowState{static_cast<RecordStatus>(number(statement, first)),
                           static_cast<std::uint64_t>(number(statement, first + 1)),
                           bytes(statement, first + 2),
                           number(statement, first + 3),
                           number(statement, first + 4),
                           bytes(statement, first + 5)};
}

std::string trigger(const std::string& event, bool before, bool after) {
    std::string values = before ? "OLD.trace_id" : "NEW.trace_id";
    for (const std::string column : witnessed) values += before ? ", OLD." + column : ", NULL";
    for (const std::string column : witnessed) values += after ? ", NEW." + column : ", NULL";
    return "CREATE TRIGGER trail_" + event + " AFTER " + event +
           " ON idempotent_record BEGIN INSERT INTO trail VALUES (NULL, "
           "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER), " +
           values + "); END;";
}

class SqliteWitness final : public Witness {
public:
    explicit SqliteWitness(const std::string& file) : db_(nullptr, sqlite3_close) {
        sqlite3* raw = nullptr;
        const int code = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
        db_.reset(raw);
        if (code != SQLITE_OK) throw std::runtime_error("evidence: can't open " + file);
        sqlite3_busy_timeout(raw, 30'000);
        run(raw, "BEGIN IMMEDIATE; CREATE TABLE trail (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, trace_id, " +
                     trail_columns() + ");" + trigger("INSERT", false, true) + trigger("UPDATE", true, true) +
                     trigger("DELETE", true, false) + "COMMIT;");
    }

    Testimony read() override {
        Testimony all;
        run(db_.get(), "BEGIN");
        const auto orders = prepare(db_.get(), "SELECT id, note, fencing_token FROM orders WHERE id > " +
                                                   std::to_string(orders_read_) + " ORDER BY id");
        while (next(db_.get(), orders)) {
            orders_read_ = number(orders, 0);
            all.orders.push_back({bytes(orders, 1), static_cast<std::uint64_t>(number(orders, 2))});
        }
        const auto trail =
            prepare(db_.get(), "SELECT * FROM trail WHERE seq > " + std::to_string(trail_read_) + " ORDER BY seq");
        while (next(db_.get(), trail)) {
            trail_read_ = number(trail, 0);
            all.trail.push_back({bytes(trail, 2), {number(trail, 1), row(trail, 3), row(trail, 9), false}});
        }
        run(db_.get(), "COMMIT");
        run(db_.get(), "DELETE FROM trail WHERE seq <= " + std::to_string(trail_read_));
        return all;
    }

    std::int64_t in_progress() override {
        const auto count = prepare(db_.get(), "SELECT count(*) FROM idempotent_record WHERE status = 0");
        next(db_.get(), count);
        return number(count, 0);
    }

private:
    std::unique_ptr<sqlite3, int (*)(sqlite3*)> db_;
    std::int64_t orders_read_ = 0, trail_read_ = 0;
};

}  // namespace

std::unique_ptr<Witness> sqlite_witness(const std::string& file) { return std::make_unique<SqliteWitness>(file); }

}  // namespace nebis::torture
