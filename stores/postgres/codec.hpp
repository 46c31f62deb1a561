// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "runtime/row_rules.hpp"

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Values to and from PostgreSQL, in its binary format: nothing to quote, nothing to misread.
namespace nebis::postgres {

constexpr Oid bytea_type = 17, int8_type = 20, text_type = 25;
/// Versions are microseconds of the clock: what lies beyond was not written by us, and adding to it could overflow.
constexpr std::int64_t greatest_version = std::int64_t{1} << 62;

/// A column of a batch: an array parameter.
class Array {
public:
    explicit Array(Oid element);
    void add(std::string_view bytes);
    void add(std::int64_t number);
    void add_null();
    std::string take();

private:
    std::string bytes_;
    Oid element_;
    std::uint32_t count_ = 0;
    bool has_null_ = false;
};

class Params {
public:
    void add(std::string bytes) { values_.push_back(std::move(bytes)); }
    void add(std::int64_t number);
    void add(Array array) { values_.push_back(array.take()); }
    const std::vector<std::string>& values() const noexcept { return values_; }

private:
    std::vector<std::string> values_;
};

std::string stored(const RequestHash& hash);
std::string_view bytes_of(const Owner& owner);

struct FreeResult {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
};

/// The rows that a statement returned.
class Rows {
public:
    explicit Rows(PGresult* result) : result_(result) {}
    int size() const noexcept { return PQntuples(result_.get()); }
    bool is_null(int row, int column) const noexcept { return PQgetisnull(result_.get(), row, column) == 1; }
    std::string_view bytes(int row, int column) const noexcept;
    std::int64_t number(int row, int column) const noexcept;  ///< 0 when it isn't eight bytes wide

private:
    std::unique_ptr<PGresult, FreeResult> result_;
};

/// What every statement that reads records returns from some column on (`Record` without `now`).
inline constexpr std::string_view record_columns =
    "r.trace_id, r.biz_type, r.status::int8, r.version, r.owner, r.attempts, r.request_hash, r.lease_expire_time, "
    "r.expire_time, r.create_time, r.update_time, r.instance, r.outcome_ref, r.request_body, r.response_body";

/// **Errors**: `corrupt` when the row can't be trusted. Never guesses.
Result<runtime::RowHead> read_head(const Rows& rows, int row, int first_column);
Result<Record> read_record(const Rows& rows, int row, int first_column, StoreMillis now);

}  // namespace nebis::postgres
