// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "runtime/row_rules.hpp"

#include <mysql.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::mysql {

/// Versions are microseconds of the clock: what lies beyond was not written by us, and adding to it could overflow.
constexpr std::int64_t greatest_version = std::int64_t{1} << 62;

std::string stored(const RequestHash& hash);
std::string_view bytes_of(const Owner& owner);

struct FreeResult {
    void operator()(MYSQL_RES* result) const noexcept { mysql_free_result(result); }
};

/// What one statement answered: rows, or how many rows it touched.
class Answer {
public:
    explicit Answer(std::uint64_t affected) : affected_(affected) {}
    explicit Answer(MYSQL_RES* result);

    std::uint64_t affected() const noexcept { return affected_; }
    std::size_t size() const noexcept { return rows_.size(); }
    bool is_null(std::size_t row, unsigned column) const noexcept { return rows_[row][column] == nullptr; }
    std::string_view bytes(std::size_t row, unsigned column) const noexcept;
    std::int64_t number(std::size_t row, unsigned column) const noexcept;  ///< 0 when it is none

private:
    std::unique_ptr<MYSQL_RES, FreeResult> result_;
    std::vector<MYSQL_ROW> rows_;
    std::vector<unsigned long> lengths_;  ///< of all cells
    unsigned columns_ = 0;
    std::uint64_t affected_ = 0;
};
using Answers = std::vector<Answer>;

/// What every statement that reads records returns (`Record` without `now`).
inline constexpr std::string_view record_columns =
    "trace_id,biz_type,status,version,owner,attempts,request_hash,lease_expire_time,expire_time,create_time,update_"
    "time,instance,outcome_ref,request_body,response_body";

/// From the columns after the first `before`. **Errors**: `corrupt` when the row can't be trusted. Never guesses.
Result<runtime::RowHead> read_head(const Answer& rows, std::size_t row, unsigned before = 0);
Result<Record> read_record(const Answer& rows, std::size_t row, StoreMillis now, unsigned before = 0);

}  // namespace nebis::mysql
