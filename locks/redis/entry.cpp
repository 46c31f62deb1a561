// SPDX-License-Identifier: Apache-2.0
#include "entry.hpp"

#include "identify/digest.hpp"
#include "runtime/snapshot.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <cstdint>

// Format 1, numbers little endian:
//   0xE8 1 | hash scheme, 1 | request digest, 32 | trace id's SHA-256, 32 | status, 1 | version, 8 | attempts, 4
//   | CRC-32 of all that, 4 | the response as every store keeps it, with a checksum of its own
namespace nebis::redis {
namespace {

constexpr std::string_view magic = "\xE8\x01";
constexpr std::size_t digest_bytes = 32;
constexpr std::size_t beginning_bytes = 2 + 1 + digest_bytes;
constexpr std::size_t head_bytes = beginning_bytes + digest_bytes + 1 + 8 + 4;
constexpr std::size_t checksum_bytes = 4;

void put_number(std::string& out, std::uint64_t number, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i)
        number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return number;
}

std::uint32_t checksum(std::string_view bytes) {
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

}  // namespace

Names names_of(std::string_view prefix, std::string_view trace_id) {
    const std::string tag = "{" + identify::to_hex(identify::sha256(trace_id)) + "}";
    return {std::string(prefix) + "idempotent:lock:" + tag, std::string(prefix) + "idempotent:record:" + tag};
}

std::string channel_of(std::string_view prefix) { return std::string(prefix) + "idempotent:left"; }

std::string beginning_of(const RequestHash& hash) {
    std::string out(magic);
    out.push_back(static_cast<char>(hash.scheme));
    out.append(identify::as_text(hash.digest));
    return out;
}

std::string encode(const CachedResult& result) {
    std::string out = beginning_of(result.request_hash);
    out.append(identify::as_text(identify::sha256(result.trace_id)));
    out.push_back(static_cast<char>(result.status));
    put_number(out, result.version, 8);
    put_number(out, result.attempts, 4);
    put_number(out, checksum(out), checksum_bytes);
    return out + runtime::encode_response(result.response);
}

std::optional<CachedResult> decode(std::string_view bytes, std::string_view trace_id) {
    if (bytes.size() < head_bytes + checksum_bytes || !bytes.starts_with(magic)) return std::nullopt;
    if (number_at(bytes, head_bytes, checksum_bytes) != checksum(bytes.substr(0, head_bytes))) return std::nullopt;
    // A connection that got mixed up must never replay somebody else's answer.
    if (bytes.substr(beginning_bytes, digest_bytes) != identify::as_text(identify::sha256(trace_id)))
        return std::nullopt;
    auto response = runtime::decode_response(bytes.substr(head_bytes + checksum_bytes));
    if (!response) return std::nullopt;

    CachedResult result;
    result.request_hash.scheme = static_cast<std::uint8_t>(bytes[magic.size()]);
    std::ranges::copy(bytes.substr(magic.size() + 1, digest_bytes),
                      reinterpret_cast<char*>(result.request_hash.digest.data()));
    const std::size_t numbers = beginning_bytes + digest_bytes;
    result.status = static_cast<RecordStatus>(bytes[numbers]);
    if (!is_terminal(result.status)) return std::nullopt;
    result.version = number_at(bytes, numbers + 1, 8);
    result.attempts = static_cast<std::uint32_t>(number_at(bytes, numbers + 9, 4));
    result.trace_id = trace_id;
    result.response = *std::move(response);
    return result;
}

}  // namespace nebis::redis
