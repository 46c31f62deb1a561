// SPDX-License-Identifier: Apache-2.0
#include "evidence.hpp"

#include "target.hpp"

#include <fstream>
#include <set>
#include <stdexcept>

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

/// Columns from `first` on: status, version, owner, lease_expire_time, expire_time, response_body.
std::optional<proof::RowState> row(const Statement& statement, int first) {
    if (sqlite3_column_type(statement.get(), first) == SQLITE_NULL) return {};
    return proof::RowState{static_cast<RecordStatus>(number(statement, first)),
                           static_cast<std::uint64_t>(number(statement, first + 1)),
                           bytes(statement, first + 2),
                           number(statement, first + 3),
                           number(statement, first + 4),
                           bytes(statement, first + 5)};
}

/// `tenant|principal|operation|key`
std::string key_of(const std::string& trace_id) { return trace_id.substr(trace_id.rfind('|') + 1); }

constexpr std::string_view columns[] = {"status",      "version",      "owner", "lease_expire_time",
                                        "expire_time", "response_body"};

std::string trigger(const std::string& event, bool before, bool after) {
    std::string values = before ? "OLD.trace_id" : "NEW.trace_id";
    for (const auto column : columns) values += before ? ", OLD." + std::string(column) : ", NULL";
    for (const auto column : columns) values += after ? ", NEW." + std::string(column) : ", NULL";
    return "CREATE TRIGGER trail_" + event + " AFTER " + event +
           " ON idempotent_record BEGIN INSERT INTO trail VALUES (NULL, "
           "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER), " +
           values + "); END;";
}

}  // namespace

Evidence::Evidence(const std::string& database, std::string ledger_file)
    : db_(nullptr, sqlite3_close), ledger_file_(std::move(ledger_file)) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(database.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
    db_.reset(raw);
    if (code != SQLITE_OK) throw std::runtime_error("evidence: can't open " + database);
    sqlite3_busy_timeout(raw, 30'000);
    std::string old_columns, new_columns;
    for (const auto column : columns) {
        old_columns += ", old_" + std::string(column);
        new_columns += ", new_" + std::string(column);
    }
    run(raw, "BEGIN IMMEDIATE; CREATE TABLE trail (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, trace_id" +
                 old_columns + new_columns + ");" + trigger("INSERT", false, true) + trigger("UPDATE", true, true) +
                 trigger("DELETE", true, false) + "COMMIT;");
}

void Evidence::effect(std::string logical, std::uint64_t token, proof::Micros at) {
    auto& all = effects_[logical];
    all.push_back({std::move(logical), token, at});
}

void Evidence::read_orders() {
    const auto select = prepare(db_.get(), "SELECT id, note, fencing_token FROM orders WHERE id > " +
                                               std::to_string(orders_read_) + " ORDER BY id");
    while (next(db_.get(), select)) {
        orders_read_ = number(select, 0);
        effect(bytes(select, 1), static_cast<std::uint64_t>(number(select, 2)), now_micros());
    }
}

void Evidence::read_ledger() {
    std::ifstream file(ledger_file_);
    file.seekg(static_cast<std::streamoff>(ledger_read_));
    std::string line;
    while (std::getline(file, line)) {
        if (file.eof()) break;  // a line that isn't whole yet
        ledger_read_ += line.size() + 1;
        const auto first = line.find(' '), second = line.find(' ', first + 1);
        if (second == std::string::npos) throw std::runtime_error("the ledger holds '" + line + "'");
        effect(line.substr(second + 1), std::stoull(line.substr(0, first)),
               std::stoll(line.substr(first + 1, second - first - 1)));
    }
}

void Evidence::read_trail() {
    const auto select =
        prepare(db_.get(), "SELECT * FROM trail WHERE seq > " + std::to_string(trail_read_) + " ORDER BY seq");
    while (next(db_.get(), select)) {
        trail_read_ = number(select, 0);
        Of& of = rows_[key_of(bytes(select, 2))];
        of.seen = now_micros();
        of.rows.push_back({number(select, 1), row(select, 3), row(select, 9), false});
    }
}

void Evidence::complete(proof::History& histories, std::chrono::seconds forget_after) {
    // One view of the database for orders and trail, so that neither is ahead of the other.
    run(db_.get(), "BEGIN");
    read_orders();
    read_trail();
    run(db_.get(), "COMMIT");
    read_ledger();
    for (auto& [key, history] : histories) {
        if (const auto found = rows_.find(key); found != rows_.end()) history.rows = found->second.rows;
        std::set<std::string> logicals;
        for (const auto& call : history.calls) logicals.insert(call.logical);
        history.effects.clear();
        for (const auto& logical : logicals)
            if (const auto found = effects_.find(logical); found != effects_.end())
                history.effects.insert(history.effects.end(), found->second.begin(), found->second.end());
    }
    const proof::Micros oldest = now_micros() - std::chrono::microseconds(2 * forget_after).count();
    std::erase_if(rows_, [&](const auto& entry) { return entry.second.seen < oldest; });
    std::erase_if(effects_, [&](const auto& entry) { return entry.second.back().at < oldest; });
    run(db_.get(), "DELETE FROM trail WHERE seq <= " + std::to_string(trail_read_));
}

std::int64_t Evidence::in_progress() {
    const auto count = prepare(db_.get(), "SELECT count(*) FROM idempotent_record WHERE status = 0");
    next(db_.get(), count);
    return number(count, 0);
}

}  // namespace nebis::torture
