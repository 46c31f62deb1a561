// SPDX-License-Identifier: Apache-2.0
#include "audit.hpp"

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>

namespace shop {
namespace {

constexpr const char* question = "SELECT note, count(*) FROM orders GROUP BY note";

std::map<std::string, int> count_in_postgres(const std::string& address) {
    const auto colon = address.rfind(':');
    const std::string where =
        "host=" + address.substr(0, colon) + " port=" + address.substr(colon + 1) + " user=app dbname=postgres";
    const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(where.c_str()), PQfinish);
    const std::unique_ptr<PGresult, void (*)(PGresult*)> rows(PQexec(connection.get(), question), PQclear);
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(connection.get()));
    std::map<std::string, int> counts;
    for (int row = 0; row < PQntuples(rows.get()); ++row)
        counts[PQgetvalue(rows.get(), row, 0)] = std::stoi(PQgetvalue(rows.get(), row, 1));
    return counts;
}

}  // namespace

std::map<std::string, int> count_orders(const std::string& store, const std::string& address) {
    if (store == "postgres") return count_in_postgres(address);
    throw std::invalid_argument("no store is named " + store);
}

}  // namespace shop
