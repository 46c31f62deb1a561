// SPDX-License-Identifier: Apache-2.0
#include "runtime/snapshot.hpp"

#include "seal/key_ring.hpp"

#include <boost/crc.hpp>

#include <cstdint>
#include <cstring>
#include <limits>

// Format 1, all numbers unsigned LEB128 unless said:
//   0xE7 1 | flags (1: tombstone) | status, zigzag | header count | (name length, name, value length, value)* | body
//   length, body | CRC-32C of all that, 4 bytes, little endian
// Format 2: sealed, see seal/key_ring.cpp; what is sealed is format 1.
// Format 254: 0xE7 254 | body. What SQL can make of a table that kept bodies alone, when it is taken over; it has
// no checksum, and neither status nor headers were kept: 200 and JSON, as the component that wrote them answered.
namespace nebis::runtime {
namespace {

constexpr unsigned char magic = 0xE7;
constexpr unsigned char format = 1;
constexpr std::string_view bare_body("\xE7\xFE");  // no single bit turns a checked format into it
constexpr unsigned char tombstone_flag = 1;
constexpr std::size_t checksum_bytes = 4;

#ifdef __x86_64__
/// The processor has this very polynomial.
[[gnu::target("sse4.2")]] std::uint32_t checksum_by_instruction(std::string_view bytes) {
    std::uint64_t crc = 0xFFFFFFFF;
    while (bytes.size() >= sizeof crc) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        crc = __builtin_ia32_crc32di(crc, word);
        bytes.remove_prefix(sizeof word);
    }
    auto rest = static_cast<std::uint32_t>(crc);
    for (const char byte : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(byte));
    return ~rest;
}
#endif

std::uint32_t checksum(std::string_view bytes) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2")) return checksum_by_instruction(bytes);
#endif
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

void put_number(std::string& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(0x80 | (number & 0x7F)));
    out.push_back(static_cast<char>(number));
}

void put_text(std::string& out, std::string_view text) {
    put_number(out, text.size());
    out.append(text);
}

class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    bool good() const noexcept { return good_; }
    bool at_end() const noexcept { return rest_.empty(); }

    unsigned char byte() {
        if (rest_.empty()) return fail(), 0;
        const auto value = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return value;
    }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint64_t next = byte();
            value |= (next & 0x7F) << shift;
            if (next < 0x80) return value;
        }
        return fail(), 0;
    }

    std::string text() {
        const std::uint64_t size = number();
        if (!good_ || size > rest_.size()) return fail(), std::string();
        std::string value(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return value;
    }

private:
    void fail() noexcept {
        good_ = false;
        rest_ = {};
    }
    std::string_view rest_;
    bool good_ = true;
};

Error damaged(const char* what) {
    return Error(ErrorKind::corrupt, "a stored response can't be read", what,
                 "the row was altered from outside or written by a newer version; look at it and purge it by hand")
        .with_code("snapshot-damaged");
}

}  // namespace

std::string encode_response(const Response& response) {
    if (response.status == sealed_status && seal::is_sealed(response.body)) return response.body;
    std::size_t size = response.body.size() + 32;
    for (const Header& header : response.headers) size += header.name.size() + header.value.size() + 10;
    std::string out;
    out.reserve(size);
    out.push_back(static_cast<char>(magic));
    out.push_back(static_cast<char>(format));
    out.push_back(static_cast<char>(response.tombstone ? tombstone_flag : 0));
    const std::int64_t status = response.status;
    put_number(out, (static_cast<std::uint64_t>(status) << 1) ^ static_cast<std::uint64_t>(status >> 63));
    put_number(out, response.headers.size());
    for (const Header& header : response.headers) {
        put_text(out, header.name);
        put_text(out, header.value);
    }
    put_text(out, response.body);
    for (std::uint32_t crc = checksum(out), i = 0; i < checksum_bytes; ++i)
        out.push_back(static_cast<char>(crc >> (8 * i)));
    return out;
}

std::string bare_response(std::string_view body) { return std::string(bare_body).append(body); }

Result<Response> decode_response(std::string_view blob) {
    if (blob.starts_with(bare_body))
        return Response{200, {{"Content-Type", "application/json"}}, std::string(blob.substr(bare_body.size())), false};
    if (seal::is_sealed(blob)) return Response{sealed_status, {}, std::string(blob), false};
    if (blob.size() < 3 + checksum_bytes || static_cast<unsigned char>(blob[0]) != magic)
        return damaged("not a response snapshot");
    if (static_cast<unsigned char>(blob[1]) != format) return damaged("format of another version");
    const std::string_view content = blob.substr(0, blob.size() - checksum_bytes);
    std::uint32_t crc = 0;
    for (std::size_t i = 0; i < checksum_bytes; ++i)
        crc |= static_cast<std::uint32_t>(static_cast<unsigned char>(blob[content.size() + i])) << (8 * i);
    if (crc != checksum(content)) return damaged("checksum differs");

    Reader reader(content.substr(2));
    Response response;
    const unsigned char flags = reader.byte();
    if ((flags & ~tombstone_flag) != 0) return damaged("unknown flags");
    response.tombstone = (flags & tombstone_flag) != 0;
    const std::uint64_t zigzag = reader.number();
    const auto status = static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
    if (status < std::numeric_limits<int>::min() || status > std::numeric_limits<int>::max())
        return damaged("status out of range");
    response.status = static_cast<int>(status);
    const std::uint64_t headers = reader.number();
    if (headers > content.size() / 2) return damaged("header count out of range");  // each takes two bytes at least
    response.headers.reserve(headers);
    for (std::uint64_t i = 0; i < headers && reader.good(); ++i) {
        std::string name = reader.text();
        response.headers.push_back({std::move(name), reader.text()});
    }
    response.body = reader.text();
    if (!reader.good() || !reader.at_end()) return damaged("lengths don't fit");
    return response;
}

}  // namespace nebis::runtime
