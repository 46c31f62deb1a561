// SPDX-License-Identifier: Apache-2.0
#include "witness.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace nebis::torture {
namespace {

using Connection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
using Rows = std::unique_ptr<PGresult, void (*)(PGresult*)>;

/// Numbers of orders are given out before the commit: one that is lower than the last may come after it.
constexpr std::int64_t latecomers = 10'000;

std::int64_t number(const Rows& rows, int row, int column) { return std::stoll(PQgetvalue(rows.get(), row, column)); }

std::optional<proof::RowState> state(const Rows& rows, int row, int first) {
    if (PQgetisnull(rows.get(), row, first)) return {};
    return proof::RowState{static_cast<RecordStatus>(number(rows, row, first)),
                           static_cast<std::uint64_t>(number(rows, row, first + 1)),
                           PQgetvalue(rows.get(), row, first + 2),
                           number(rows, row, first + 3),
                           number(rows, row, first + 4),
                           PQgetvalue(rows.get(), row, first + 5)};
}

class PostgresWitness final : public Witness {
public:
    explicit PostgresWitness(const std::string& address) {
        const auto colon = address.rfind(':');
        where_ = "host=" + address.substr(0, colon) + " port=" + address.substr(colon + 1) +
                 " user=app dbname=postgres connect_timeout=5";
        std::string columns, values;
        for (const std::string age : {"OLD", "NEW"})
            for (const std::string column : witnessed) {
                const bool is_bytes = column == "owner" || column == "response_body";
                columns +=
                    ", " + std::string(age == "OLD" ? "old_" : "new_") + column + (is_bytes ? " bytea" : " bigint");
                values += ", " + age + "." + column;
            }
        // The trigger runs while the row is held, so of each row the trail has the order of the commits.
        ask(connect(),
            "BEGIN; CREATE TABLE trail (seq bigserial PRIMARY KEY, at bigint, trace_id bytea" + columns +
                "); CREATE FUNCTION trail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO trail (at, "
                "trace_id, " +
                trail_columns() +
                ") VALUES (floor(extract(epoch FROM clock_timestamp()) * 1000), coalesce(NEW.trace_id, OLD.trace_id)" +
                values +
                "); RETURN NULL; END $$; CREATE TRIGGER trail AFTER INSERT OR UPDATE OR DELETE ON idempotent_record "
                "FOR EACH ROW EXECUTE FUNCTION trail(); COMMIT");
    }

    Testimony read() override {
        Testimony all;
        const Connection db = connect();
        ask(db, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        const Rows orders = ask(db, "SELECT id, note, fencing_token FROM orders WHERE id > " +
                                        std::to_string(orders_read_ - latecomers) + " ORDER BY id");
        for (int row = 0; row < PQntuples(orders.get()); ++row) {
            const auto id = number(orders, row, 0);
            orders_read_ = std::max(orders_read_, id);
            if (!seen_.insert(id).second) continue;
            all.orders.push_back(
                {PQgetvalue(orders.get(), row, 1), static_cast<std::uint64_t>(number(orders, row, 2))});
        }
        seen_.erase(seen_.begin(), seen_.lower_bound(orders_read_ - latecomers));
        const Rows trail = ask(db,
                               "WITH gone AS (DELETE FROM trail RETURNING *) SELECT at, convert_from(trace_id, "
                               "'UTF8'), " +
                                   trail_columns() + " FROM gone ORDER BY seq");
        for (int row = 0; row < PQntuples(trail.get()); ++row)
            all.trail.push_back({PQgetvalue(trail.get(), row, 1),
                                 {number(trail, row, 0), state(trail, row, 2), state(trail, row, 8), false}});
        ask(db, "COMMIT");
        return all;
    }

    std::int64_t in_progress() override {
        return number(ask(connect(), "SELECT count(*) FROM idempotent_record WHERE status = 0"), 0, 0);
    }

private:
    /// Anew each time: the server is killed again and again.
    Connection connect() const {
        Connection made(PQconnectdb(where_.c_str()), PQfinish);
        if (PQstatus(made.get()) != CONNECTION_OK)
            throw std::runtime_error(std::string("evidence: ") + PQerrorMessage(made.get()));
        ask(made, "SET client_min_messages = warning");
        return made;
    }
    static Rows ask(const Connection& db, const std::string& sql) {
        Rows rows(PQexec(db.get(), sql.c_str()), PQclear);
        const auto status = PQresultStatus(rows.get());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            throw std::runtime_error(std::string("evidence: ") + PQresultErrorMessage(rows.get()));
        return rows;
    }

    std::string where_;
    std::int64_t orders_read_ = 0;
    std::set<std::int64_t> seen_;
};

}  // namespace

std::unique_ptr<Witness> postgres_witness(const std::string& address) {
    return std::make_unique<PostgresWitness>(address);
}

}  // namespace nebis::torture
