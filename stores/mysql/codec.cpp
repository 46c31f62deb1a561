// SPDX-License-Identifier: Apache-2.0
#include "codec.hpp"

#include "driver/shown_key.hpp"
#include "runtime/snapshot.hpp"

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace nebis::mysql {
namespace {

using driver::damaged;

// Order of `record_columns`.
enum Column : unsigned {
    trace_id_,
    operation_,
    status_,
    version_,
    owner_,
    attempts_,
    request_hash_,
    lease_expire_time_,
    expire_time_,
    create_time_,
    update_time_,
    instance_,
    outcome_ref_,
    request_body_,
    response_body_,
};

constexpr std::size_t hash_bytes = 33;

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc() || stop != end) return {};
    return number;
}

}  // namespace

std::string stored(const RequestHash& hash) {
    std::string bytes(hash_bytes, '\0');
    bytes[0] = static_cast<char>(hash.scheme);
    std::memcpy(bytes.data() + 1, hash.digest.data(), hash.digest.size());
    return bytes;
}

std::string_view bytes_of(const Owner& owner) {
    return {reinterpret_cast<const char*>(owner.bytes.data()), owner.bytes.size()};
}

Answer::Answer(MYSQL_RES* result) : result_(result), columns_(mysql_num_fields(result)) {
    rows_.reserve(mysql_num_rows(result));
    while (MYSQL_ROW row = mysql_fetch_row(result)) {
        rows_.push_back(row);
        const unsigned long* const lengths = mysql_fetch_lengths(result);
        lengths_.insert(lengths_.end(), lengths, lengths + columns_);
    }
}

std::string_view Answer::bytes(std::size_t row, unsigned column) const noexcept {
    if (is_null(row, column)) return {};
    return {rows_[row][column], lengths_[row * columns_ + column]};
}

std::int64_t Answer::number(std::size_t row, unsigned column) const noexcept {
    return whole_number(bytes(row, column)).value_or(0);
}

Result<runtime::RowHead> read_head(const Answer& rows, std::size_t row, unsigned before) {
    const auto trace_id = rows.bytes(row, before + trace_id_);
    runtime::RowHead head;
    const auto status = whole_number(rows.bytes(row, before + status_));
    if (!status || *status < 0 || *status > static_cast<int>(RecordStatus::marked))
        return damaged(trace_id, "unknown status");
    head.status = static_cast<RecordStatus>(*status);
    const auto version = rows.number(row, before + version_);
    if (version < 1 || version > greatest_version) return damaged(trace_id, "impossible version");
    head.version = static_cast<std::uint64_t>(version);
    const auto owner = rows.bytes(row, before + owner_);
    if (owner.size() != head.owner.bytes.size()) return damaged(trace_id, "no owner");
    std::memcpy(head.owner.bytes.data(), owner.data(), owner.size());
    const auto attempts = rows.number(row, before + attempts_);
    if (attempts < 1 || attempts >= std::numeric_limits<std::uint32_t>::max())
        return damaged(trace_id, "impossible number of attempts");
    head.attempts = static_cast<std::uint32_t>(attempts);
    const auto hash = rows.bytes(row, before + request_hash_);
    if (hash.size() != hash_bytes) return damaged(trace_id, "no request hash");
    head.request_hash.scheme = static_cast<unsigned char>(hash[0]);
    std::memcpy(head.request_hash.digest.data(), hash.data() + 1, head.request_hash.digest.size());
    head.lease_expire_time = rows.number(row, before + lease_expire_time_);
    head.expire_time = rows.number(row, before + expire_time_);
    head.update_time = rows.number(row, before + update_time_);
    return head;
}

Result<Record> read_record(const Answer& rows, std::size_t row, StoreMillis now, unsigned before) {
    auto head = read_head(rows, row, before);
    if (!head) return std::move(head).error();
    Record record;
    record.trace_id = rows.bytes(row, before + trace_id_);
    record.operation = rows.bytes(row, before + operation_);
    record.status = head->status;
    record.version = head->version;
    record.owner = head->owner;
    record.attempts = head->attempts;
    record.request_hash = head->request_hash;
    record.lease_expire_time = head->lease_expire_time;
    record.expire_time = head->expire_time;
    record.create_time = rows.number(row, before + create_time_);
    record.update_time = head->update_time;
    record.instance = rows.bytes(row, before + instance_);
    record.outcome_ref = rows.bytes(row, before + outcome_ref_);
    record.request_body = rows.bytes(row, before + request_body_);
    if (!rows.is_null(row, before + response_body_)) {
        auto response = runtime::decode_response(rows.bytes(row, before + response_body_));
        if (!response) return damaged(record.trace_id, response.error().detail());
        record.response = std::move(*response);
    }
    record.now = now;
    return record;
}

}  // namespace nebis::mysql
