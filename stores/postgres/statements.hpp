// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nebis::postgres {

/// Every statement of a session, prepared once per connection.
enum class Sql : std::uint8_t {
    open_transaction,
    commit,
    roll_back,
    timeouts,
    now,
    insert_new,
    lock,
    take,
    lapse,
    finish,
    finish_waiting,
    renew,
    still_mine,
    find,
    recover,
    clean,
    purge,
    read_rule,
    keep_rule,
};

const char* name_of(Sql sql) noexcept;
/// Name and text of each, for a table whose name `good_table_name` has passed.
std::vector<std::pair<const char*, std::string>> statements_of(const std::string& table);

}  // namespace nebis::postgres
