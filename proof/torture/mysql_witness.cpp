// SPDX-License-Identifier: Apache-2.0
#include "witness.hpp"

#include <mysql.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace nebis::torture {
namespace {

using Connection = std::unique_ptr<MYSQL, void (*)(MYSQL*)>;

/// Numbers of orders are given out before the commit: one that is lower than the last may come after it.
constexpr std::int64_t latecomers = 10'000;

struct Rows {
    explicit Rows(MYSQL_RES* all) : result(all, mysql_free_result) {}
    bool next() {
        row = result ? mysql_fetch_row(result.get()) : nullptr;
        return row != nullptr;
    }
    std::string text(unsigned column) const {
        return row[column] ? std::string(row[column], mysql_fetch_lengths(result.get())[column]) : std::string();
    }
    std::int64_t number(unsigned column) const { return row[column] ? std::stoll(row[column]) : 0; }
    std::optional<proof::RowState> state(unsigned first) const {
        if (!row[first]) return {};
        return proof::RowState{static_cast<RecordStatus>(number(first)),
                               static_cast<std::uint64_t>(number(first + 1)),
                               text(first + 2),
                               number(first + 3),
                               number(first + 4),
                               text(first + 5)};
    }
    std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result;
    MYSQL_ROW row = nullptr;
};

std::string trigger(const std::string& event, bool before, bool after) {
    std::string values = before ? "OLD.trace_id" : "NEW.trace_id";
    for (const std::string column : witnessed) values += before ? ", OLD." + column : ", NULL";
    for (const std::string column : witnessed) values += after ? ", NEW." + column : ", NULL";
    return "CREATE TRIGGER trail_" + event + " AFTER " + event +
           " ON idempotent_record FOR EACH ROW INSERT INTO trail (at, trace_id, " + trail_columns() +
           ") VALUES (FLOOR(UNIX_TIMESTAMP(SYSDATE(3)) * 1000), " + values + ")";
}

class MysqlWitness final : public Witness {
public:
    explicit MysqlWitness(const std::string& address) : address_(address) {
        std::string columns;
        for (const std::string age : {"old_", "new_"})
            for (const std::string column : witnessed)
                columns +=
                    ", " + age + column + (column == "owner" || column == "response_body" ? " LONGBLOB" : " BIGINT");
        const Connection db = connect();
        ask(db, "CREATE TABLE trail (seq BIGINT AUTO_INCREMENT PRIMARY KEY, at BIGINT, trace_id VARBINARY(255)" +
                    columns + ")");
        // They run while the row is held, so of each row the trail has the order of the commits.
        ask(db, trigger("INSERT", false, true));
        ask(db, trigger("UPDATE", true, true));
        ask(db, trigger("DELETE", true, false));
    }

    Testimony read() override {
        Testimony all;
        const Connection db = connect();
        ask(db, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        ask(db, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        Rows orders = ask(db, "SELECT id, note, fencing_token FROM orders WHERE id > " +
                                  std::to_string(orders_read_ - latecomers) + " ORDER BY id");
        while (orders.next()) {
            const auto id = orders.number(0);
            orders_read_ = std::max(orders_read_, id);
            if (seen_.insert(id).second)
                all.orders.push_back({orders.text(1), static_cast<std::uint64_t>(orders.number(2))});
        }
        seen_.erase(seen_.begin(), seen_.lower_bound(orders_read_ - latecomers));
        Rows trail = ask(db, "SELECT seq, at, trace_id, " + trail_columns() + " FROM trail ORDER BY seq");
        std::string gone;
        while (trail.next()) {
            gone.append(gone.empty() ? "" : ",").append(trail.text(0));
            all.trail.push_back({trail.text(2), {trail.number(1), trail.state(3), trail.state(9), false}});
        }
        // Just these: one with a lower number may have been committed meanwhile.
        if (!gone.empty()) ask(db, "DELETE FROM trail WHERE seq IN (" + gone + ")");
        ask(db, "COMMIT");
        return all;
    }

    std::int64_t in_progress() override {
        Rows count = ask(connect(), "SELECT COUNT(*) FROM idempotent_record WHERE status = 0");
        count.next();
        return count.number(0);
    }

private:
    /// Anew each time: the server is killed again and again.
    Connection connect() const {
        const auto colon = address_.rfind(':');
        Connection made(mysql_init(nullptr), mysql_close);
        if (!mysql_real_connect(made.get(), address_.substr(0, colon).c_str(), "app", "app-secret", "app",
                                static_cast<unsigned>(std::stoul(address_.substr(colon + 1))), nullptr, 0))
            throw std::runtime_error(std::string("evidence: ") + mysql_error(made.get()));
        return made;
    }
    static Rows ask(const Connection& db, const std::string& sql) {
        if (mysql_real_query(db.get(), sql.data(), sql.size()) != 0)
            throw std::runtime_error(std::string("evidence: ") + mysql_error(db.get()));
        return Rows(mysql_store_result(db.get()));
    }

    std::string address_;
    std::int64_t orders_read_ = 0;
    std::set<std::int64_t> seen_;
};

}  // namespace

std::unique_ptr<Witness> mysql_witness(const std::string& address) { return std::make_unique<MysqlWitness>(address); }

}  // namespace nebis::torture
