// SPDX-License-Identifier: Apache-2.0
#include "mariadb_server.hpp"

#include <mysql.h>

#include <stdexcept>

namespace nebis::test {

ForeignMysql::ForeignMysql(const std::string& address) : connection_(mysql_init(nullptr)) {
    const auto colon = address.rfind(':');
    if (mysql_real_connect(connection_, address.substr(0, colon).c_str(), "app", "app-secret", "app",
                           static_cast<unsigned>(std::stoul(address.substr(colon + 1))), nullptr, 0))
        return;
    const std::string why = mysql_error(connection_);
    mysql_close(connection_);
    throw std::runtime_error(why);
}
ForeignMysql::~ForeignMysql() { mysql_close(connection_); }

std::string ForeignMysql::run(const std::string& sql) {
    if (mysql_real_query(connection_, sql.data(), sql.size()) != 0) throw std::runtime_error(mysql_error(connection_));
    MYSQL_RES* const result = mysql_store_result(connection_);
    if (!result) return {};
    std::string text;
    MYSQL_ROW row = mysql_fetch_row(result);
    if (row && row[0]) text.assign(row[0], mysql_fetch_lengths(result)[0]);
    mysql_free_result(result);
    return text;
}

mysql::Options MariadbServer::options() const {
    mysql::Options options;
    options.addresses = {address()};
    options.database = "app";
    options.username = "app";
    options.password = "app-secret";
    options.connect_timeout = std::chrono::seconds(10);
    options.require_durable_commits = false;
    options.create_schema = true;
    return options;
}

}  // namespace nebis::test
