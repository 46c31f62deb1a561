// SPDX-License-Identifier: Apache-2.0
#include "slots.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <charconv>
#include <string>

namespace nebis::redis {
namespace {

std::optional<Address> address_of(std::string_view host, std::int64_t port, const Address& teller) {
    auto made = make_address(host.empty() || host == "?" ? teller.host : host, std::to_string(port));
    if (!made) return std::nullopt;
    return *std::move(made);
}

}  // namespace

std::uint16_t crc16(std::string_view bytes) noexcept {
    boost::crc_optimal<16, 0x1021, 0, 0, false, false> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return static_cast<std::uint16_t>(crc.checksum());
}

std::uint16_t SlotMap::number_of(const Address& node) {
    const auto at = std::ranges::find(nodes_, node);
    if (at != nodes_.end()) return static_cast<std::uint16_t>(at - nodes_.begin());
    nodes_.push_back(node);
    return static_cast<std::uint16_t>(nodes_.size() - 1);
}

const Address* SlotMap::owner(std::uint16_t slot) const noexcept {
    return owners_[slot] == nobody ? nullptr : &nodes_[owners_[slot]];
}

void SlotMap::set(std::uint16_t slot, const Address& owner) {
    if (nodes_.size() < nobody) owners_[slot] = number_of(owner);
}

std::optional<SlotMap> SlotMap::from(const Reply& reply, const Address& teller) {
    using Kind = Reply::Kind;
    if (reply.kind != Kind::array) return std::nullopt;
    SlotMap map;
    for (const Reply& range : reply.elements) {
        // first, last, master (host, port, …), replicas …
        if (range.kind != Kind::array || range.elements.size() < 3) return std::nullopt;
        const Reply &first = range.elements[0], &last = range.elements[1], &master = range.elements[2];
        if (first.kind != Kind::integer || last.kind != Kind::integer || master.kind != Kind::array ||
            master.elements.size() < 2 || master.elements[1].kind != Kind::integer)
            return std::nullopt;
        if (first.integer < 0 || first.integer > last.integer || last.integer >= std::int64_t{slot_count})
            return std::nullopt;
        const auto node = address_of(master.elements[0].text, master.elements[1].integer, teller);
        if (!node || map.nodes_.size() >= nobody) return std::nullopt;
        const std::uint16_t number = map.number_of(*node);
        std::fill(map.owners_.begin() + first.integer, map.owners_.begin() + last.integer + 1, number);
    }
    return map;
}

std::optional<Redirection> redirection_of(const Reply& reply, const Address& teller) {
    const auto word = reply.error_word();
    if (word != "MOVED" && word != "ASK") return std::nullopt;
    std::string_view rest = std::string_view(reply.text).substr(word.size());
    if (!rest.starts_with(' ')) return std::nullopt;
    rest.remove_prefix(1);
    Redirection out;
    out.moved = word == "MOVED";
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), out.slot);
    if (fault != std::errc() || out.slot >= slot_count || end == rest.data() + rest.size() || *end != ' ')
        return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
    const auto colon = rest.rfind(':');
    std::int64_t port = 0;
    if (colon == std::string_view::npos) return std::nullopt;
    const auto digits = rest.substr(colon + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
    const auto to = address_of(rest.substr(0, colon), port, teller);
    if (!to) return std::nullopt;
    out.to = *to;
    return out;
}

}  // namespace nebis::redis
