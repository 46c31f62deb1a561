// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// The article's table for PostgreSQL, as somebody writes it by hand.
namespace nebis::test {

inline std::string article_table(const std::string& table, const std::string& time = "TIMESTAMPTZ",
                                 const std::string& unique = ", CONSTRAINT uk_TABLE UNIQUE (trace_id)") {
    std::string sql =
        "CREATE TABLE TABLE_NAME (id BIGSERIAL PRIMARY KEY, trace_id VARCHAR(128) NOT NULL, biz_type VARCHAR(64) NOT "
        "NULL, status SMALLINT NOT NULL DEFAULT 0, request_body TEXT, response_body TEXT, expire_time TIME_TYPE NOT "
        "NULL, create_time TIME_TYPE NOT NULL DEFAULT CURRENT_TIMESTAMP, update_time TIME_TYPE NOT NULL DEFAULT "
        "CURRENT_TIMESTAMP" +
        unique + ")";
    const auto put = [&](const std::string& mark, const std::string& with) {
        for (std::size_t at = 0; (at = sql.find(mark, at)) != std::string::npos; at += with.size())
            sql.replace(at, mark.size(), with);
    };
    put("TABLE_NAME", table);
    put("uk_TABLE", "uk_" + table);
    put("TIME_TYPE", time);
    return sql;
}

inline std::string article_rows(const std::string& table) {
    return "INSERT INTO " + table +
           " (trace_id, biz_type, status, response_body, expire_time) VALUES ('done', 'pay', 1, '{\"order\":7}', now() "
           "+ "
           "interval '1 day'), ('done-long-ago', 'pay', 1, NULL, now() + interval '1 day'), ('failed', 'pay', 2, NULL, "
           "now() + interval '1 day'), ('running', 'pay', 0, NULL, now() + interval '1 day'), ('订单', 'pay', 1, '1', "
           "now() + interval '1 day')";
}

/// `count` rows of others.
inline std::string many_rows(const std::string& table, int count) {
    return "INSERT INTO " + table +
           " (trace_id, biz_type, status, response_body, expire_time) SELECT 'k' || i, 'pay', 1, 'x', now() + interval "
           "'1 day' FROM generate_series(1, " +
           std::to_string(count) + ") i";
}

}  // namespace nebis::test
