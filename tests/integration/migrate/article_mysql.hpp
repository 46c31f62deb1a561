// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// The article's table, in its own words (MySQL), and rows of it.
namespace nebis::test {

inline std::string article_table_mysql(const std::string& table,
                                       const std::string& unique = ", UNIQUE KEY uk_trace_id (trace_id)",
                                       const std::string& time = "DATETIME") {
    return "CREATE TABLE `" + table +
           "` (`id` BIGINT NOT NULL AUTO_INCREMENT, `trace_id` VARCHAR(128) NOT NULL, `biz_type` VARCHAR(64) NOT NULL, "
           "`status` TINYINT NOT NULL DEFAULT 0, `request_body` TEXT, `response_body` TEXT, `expire_time` " +
           time + " NOT NULL, `create_time` " + time + " NOT NULL DEFAULT CURRENT_TIMESTAMP, `update_time` " + time +
           " NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (`id`)" + unique +
           ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
}

inline std::string article_rows_mysql(const std::string& table) {
    return "INSERT INTO " + table +
           " (trace_id, biz_type, status, response_body, expire_time) VALUES ('done', 'pay', 1, '{\"order\":7}', "
           "NOW() + INTERVAL 1 DAY), ('done-long-ago', 'pay', 1, NULL, NOW() + INTERVAL 1 DAY), ('failed', 'pay', 2, "
           "NULL, NOW() + INTERVAL 1 DAY), ('running', 'pay', 0, NULL, NOW() + INTERVAL 1 DAY), ('订单', 'pay', 1, "
           "'1', NOW() + INTERVAL 1 DAY)";
}

/// `count` rows of others.
inline std::string many_rows_mysql(const std::string& table, int count) {
    return "INSERT INTO " + table +
           " (trace_id, biz_type, status, response_body, expire_time) SELECT CONCAT('k', seq), 'pay', 1, 'x', NOW() + "
           "INTERVAL 1 DAY FROM seq_1_to_" +
           std::to_string(count);
}

}  // namespace nebis::test
