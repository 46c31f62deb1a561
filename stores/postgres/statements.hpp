// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nebis::postgres {

/// Every statement, prepared once per connection.
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
    leases,
    clean,
    purge,
    page,
    rewrite,
    read_rule,
    keep_rule,
    // Of `atomic` alone, prepared on its connections only.
    open_atomic,
    guard,
    unguard,
    body_timeouts,
    wait_for_key,
    lock_mine,
    save_body,
    undo_body,
    release_body,
};

/// What a connection is for.
enum class Use : std::uint8_t { session, atomic };

const char* name_of(Sql sql) noexcept;
/// Name and text of each, for a table whose name `good_table_name` has passed.
std::vector<std::pair<const char*, std::string>> statements_of(const std::string& table, Use use);
/// The text of one.
std::string text_of(Sql sql, const std::string& table);

/// What prepares a connection for `atomic`, before its statements can be: see `guard`.
extern const char* const atomic_settings;

}  // namespace nebis::postgres
