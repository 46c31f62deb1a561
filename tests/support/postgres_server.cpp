// SPDX-License-Identifier: Apache-2.0
#include "postgres_server.hpp"

#include <libpq-fe.h>

#include <stdexcept>

namespace nebis::test {

ForeignSession::ForeignSession(const std::string& address) {
    const auto colon = address.rfind(':');
    const std::string words = "host=" + address.substr(0, colon) + " port=" + address.substr(colon + 1) +
                              " user=app dbname=postgres sslmode=disable connect_timeout=10";
    connection_ = PQconnectdb(words.c_str());
    if (PQstatus(connection_) == CONNECTION_OK) return;
    const std::string why = PQerrorMessage(connection_);
    PQfinish(connection_);
    throw std::runtime_error(why);
}
ForeignSession::~ForeignSession() { PQfinish(connection_); }

std::string ForeignSession::run(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const auto status = PQresultStatus(result);
    std::string text;
    if (status == PGRES_TUPLES_OK && PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
    PQclear(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(connection_));
    return text;
}

postgres::Options PostgresServer::options() const {
    postgres::Options options;
    options.addresses = {address()};
    options.username = "app";
    options.connect_timeout = std::chrono::seconds(10);
    options.create_schema = true;
    return options;
}

}  // namespace nebis::test
