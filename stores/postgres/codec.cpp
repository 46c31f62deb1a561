// SPDX-License-Identifier: Apache-2.0
#include "codec.hpp"

#include "driver/shown_key.hpp"
#include "runtime/snapshot.hpp"

#include <cstring>
#include <limits>
#include <utility>

namespace nebis::postgres {

using driver::damaged;

namespace {

// Order of `record_columns`.
enum Column : int {
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
constexpr std::size_t array_header = 20;

void put(std::string& into, std::uint64_t number, int width) {
    for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) into.push_back(static_cast<char>(number >> shift & 0xFF));
}

}  // namespace

Array::Array(Oid element) : bytes_(array_header, '\0'), element_(element) {}

void Array::add(std::string_view bytes) {
    put(bytes_, bytes.size(), 4);
    bytes_.append(bytes);
    ++count_;
}
void Array::add(std::int64_t number) {
    put(bytes_, 8, 4);
    put(bytes_, static_cast<std::uint64_t>(number), 8);
    ++count_;
}
void Array::add_null() {
    put(bytes_, 0xFFFFFFFF, 4);
    ++count_;
    has_null_ = true;
}
std::string Array::take() {
    std::string header;
    put(header, 1, 4);  // dimensions
    put(header, has_null_ ? 1 : 0, 4);
    put(header, element_, 4);
    put(header, count_, 4);
    put(header, 1, 4);  // the first index
    bytes_.replace(0, array_header, header);
    return std::move(bytes_);
}

void Params::add(std::int64_t number) {
    std::string bytes;
    put(bytes, static_cast<std::uint64_t>(number), 8);
    values_.push_back(std::move(bytes));
}

std::string stored(const RequestHash& hash) {
    std::string bytes(hash_bytes, '\0');
    bytes[0] = static_cast<char>(hash.scheme);
    std::memcpy(bytes.data() + 1, hash.digest.data(), hash.digest.size());
    return bytes;
}

std::string_view bytes_of(const Owner& owner) {
    return {reinterpret_cast<const char*>(owner.bytes.data()), owner.bytes.size()};
}

std::string_view Rows::bytes(int row, int column) const noexcept {
    return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::number(int row, int column) const noexcept {
    const auto text = bytes(row, column);
    if (text.size() != 8) return 0;
    std::uint64_t number = 0;
    for (const char c : text) number = number << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(number);
}

Result<runtime::RowHead> read_head(const Rows& rows, int row, int first) {
    const auto at = [first](Column column) { return first + column; };
    const auto trace_id = rows.bytes(row, at(trace_id_));
    runtime::RowHead head;
    const auto status = rows.number(row, at(status_));
    if (status < 0 || status > static_cast<int>(RecordStatus::marked)) return damaged(trace_id, "unknown status");
    head.status = static_cast<RecordStatus>(status);
    const auto version = rows.number(row, at(version_));
    if (version < 1 || version > greatest_version) return damaged(trace_id, "impossible version");
    head.version = static_cast<std::uint64_t>(version);
    const auto owner = rows.bytes(row, at(owner_));
    if (owner.size() != head.owner.bytes.size()) return damaged(trace_id, "no owner");
    std::memcpy(head.owner.bytes.data(), owner.data(), owner.size());
    const auto attempts = rows.number(row, at(attempts_));
    if (attempts < 1 || attempts >= std::numeric_limits<std::uint32_t>::max())
        return damaged(trace_id, "impossible number of attempts");
    head.attempts = static_cast<std::uint32_t>(attempts);
    const auto hash = rows.bytes(row, at(request_hash_));
    if (hash.size() != hash_bytes) return damaged(trace_id, "no request hash");
    head.request_hash.scheme = static_cast<unsigned char>(hash[0]);
    std::memcpy(head.request_hash.digest.data(), hash.data() + 1, head.request_hash.digest.size());
    head.lease_expire_time = rows.number(row, at(lease_expire_time_));
    head.expire_time = rows.number(row, at(expire_time_));
    head.update_time = rows.number(row, at(update_time_));
    return head;
}

Result<Record> read_record(const Rows& rows, int row, int first, StoreMillis now) {
    const auto at = [first](Column column) { return first + column; };
    auto head = read_head(rows, row, first);
    if (!head) return std::move(head).error();
    Record record;
    record.trace_id = rows.bytes(row, at(trace_id_));
    record.operation = rows.bytes(row, at(operation_));
    record.status = head->status;
    record.version = head->version;
    record.owner = head->owner;
    record.attempts = head->attempts;
    record.request_hash = head->request_hash;
    record.lease_expire_time = head->lease_expire_time;
    record.expire_time = head->expire_time;
    record.create_time = rows.number(row, at(create_time_));
    record.update_time = head->update_time;
    record.instance = rows.bytes(row, at(instance_));
    record.outcome_ref = rows.bytes(row, at(outcome_ref_));
    record.request_body = rows.bytes(row, at(request_body_));
    if (!rows.is_null(row, at(response_body_))) {
        auto response = runtime::decode_response(rows.bytes(row, at(response_body_)));
        if (!response) return damaged(record.trace_id, response.error().detail());
        record.response = std::move(*response);
    }
    record.now = now;
    return record;
}

}  // namespace nebis::postgres
