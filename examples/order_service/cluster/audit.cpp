// SPDX-License-Identifier: Apache-2.0
#include "audit.hpp"

#include <libpq-fe.h>
#include <mysql.h>

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

std::map<std::string, int> count_in_mysql(const std::string& address) {
    const auto colon = address.rfind(':');
    const std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection(mysql_init(nullptr), mysql_close);
    if (!mysql_real_connect(connection.get(), address.substr(0, colon).c_str(), "app", "app-secret", "app",
                            static_cast<unsigned>(std::stoul(address.substr(colon + 1))), nullptr, 0) ||
        mysql_query(connection.get(), question) != 0)
        throw std::runtime_error(mysql_error(connection.get()));
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(mysql_store_result(connection.get()),
                                                                mysql_free_result);
    if (!rows) throw std::runtime_error(mysql_error(connection.get()));
    std::map<std::string, int> counts;
    while (MYSQL_ROW row = mysql_fetch_row(rows.get())) counts[row[0]] = std::stoi(row[1]);
    return counts;
}

}  // namespace

std::map<std::string, int> count_orders(const std::string& store, const std::string& address) {
    if (store == "postgres") return count_in_postgres(address);
    if (store == "mysql") return count_in_mysql(address);
    throw std::invalid_argument("no store is named " + store);
}

}  // namespace shop
