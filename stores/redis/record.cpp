// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include "driver/shown_key.hpp"
#include "identify/digest.hpp"
#include "runtime/snapshot.hpp"

#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace nebis::redis::records {
namespace {

constexpr std::int64_t greatest = 9'007'199'253'740'991;  // as in common.lua
constexpr std::size_t hash_bytes = 33;

using Fields = std::map<std::string_view, std::string_view>;

bool number(const Fields& fields, std::string_view name, std::int64_t least, std::int64_t most, std::int64_t& into) {
    const auto at = fields.find(name);
    if (at == fields.end() || at->second.starts_with('-')) return false;
    const char* const end = at->second.data() + at->second.size();
    const auto [stop, fault] = std::from_chars(at->second.data(), end, into);
    return fault == std::errc() && stop == end && into >= least && into <= most;
}

std::size_t hex_value(char c) noexcept { return static_cast<std::size_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

}  // namespace

std::string Names::name(std::string_view kind, std::size_t bucket) const {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string out = prefix_ + "idempotent:";
    out.append(kind).append(":{").append(table_).append(1, ':');
    out += digits[bucket / 16];
    out += digits[bucket % 16];
    return out + "}";
}

std::string Names::row(std::string_view member) const {
    return name("row", bucket_of(member)).append(1, ':').append(member);
}

std::string Names::rule(std::string_view operation) const {
    const std::string member = member_of(operation);
    return name("rule", bucket_of(member)) + ":" + member;
}

std::string member_of(std::string_view trace_id) { return identify::to_hex(identify::sha256(trace_id)); }

std::size_t bucket_of(std::string_view member) noexcept { return hex_value(member[0]) * 16 + hex_value(member[1]); }

Result<Record> read_record(const Reply& reply, std::string_view member, StoreMillis now) {
    if (reply.kind != Reply::Kind::array || reply.elements.size() % 2 != 0)
        return driver::damaged_digest(member, "it is no hash");
    Fields fields;
    for (std::size_t i = 0; i < reply.elements.size(); i += 2)
        fields[reply.elements[i].text] = reply.elements[i + 1].text;
    const auto text = [&fields](std::string_view name) {
        const auto at = fields.find(name);
        return at == fields.end() ? std::string_view() : at->second;
    };
    Record record;
    record.trace_id = text("trace_id");
    if (!fields.contains("trace_id") || member_of(record.trace_id) != member)
        return driver::damaged_digest(member, "it is of another key");
    std::int64_t value = 0;
    if (!number(fields, "status", 0, static_cast<int>(RecordStatus::marked), value))
        return driver::damaged_digest(member, "unknown status");
    record.status = static_cast<RecordStatus>(value);
    if (!number(fields, "version", 1, greatest, value)) return driver::damaged_digest(member, "impossible version");
    record.version = static_cast<std::uint64_t>(value);
    const auto owner = text("owner");
    if (owner.size() != record.owner.bytes.size()) return driver::damaged_digest(member, "no owner");
    std::memcpy(record.owner.bytes.data(), owner.data(), owner.size());
    if (!number(fields, "attempts", 1, std::numeric_limits<std::uint32_t>::max() - 1, value))
        return driver::damaged_digest(member, "impossible number of attempts");
    record.attempts = static_cast<std::uint32_t>(value);
    const auto hash = text("request_hash");
    if (hash.size() != hash_bytes) return driver::damaged_digest(member, "no request hash");
    record.request_hash.scheme = static_cast<unsigned char>(hash[0]);
    std::memcpy(record.request_hash.digest.data(), hash.data() + 1, record.request_hash.digest.size());
    if (!number(fields, "lease_expire_time", 0, greatest, record.lease_expire_time) ||
        !number(fields, "expire_time", 0, greatest, record.expire_time) ||
        !number(fields, "create_time", 0, greatest, record.create_time) ||
        !number(fields, "update_time", 0, greatest, record.update_time))
        return driver::damaged_digest(member, "impossible time");
    if (!fields.contains("instance")) return driver::damaged_digest(member, "no instance");
    if (!fields.contains("biz_type")) return driver::damaged_digest(member, "no operation");
    record.operation = text("biz_type");
    record.instance = text("instance");
    record.outcome_ref = text("outcome_ref");
    record.request_body = text("request_body");
    if (fields.contains("response_body")) {
        auto response = runtime::decode_response(text("response_body"));
        if (!response) return driver::damaged_digest(member, response.error().message());
        record.response = *std::move(response);
    }
    record.now = now;
    return record;
}

}  // namespace nebis::redis::records
