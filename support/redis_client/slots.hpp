// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "address.hpp"
#include "reply.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace nebis::redis {

constexpr std::size_t slot_count = 16384;

/// CRC-16/XMODEM, as the Cluster specification says.
std::uint16_t crc16(std::string_view bytes) noexcept;
inline std::uint16_t slot_of(std::string_view tag) noexcept { return crc16(tag) % slot_count; }

/// Which master serves which slot.
class SlotMap {
public:
    /// Of CLUSTER SLOTS, told by `teller`. Empty: it can't be that.
    static std::optional<SlotMap> from(const Reply& reply, const Address& teller);

    /// Null: nobody serves it.
    const Address* owner(std::uint16_t slot) const noexcept;
    void set(std::uint16_t slot, const Address& owner);
    const std::vector<Address>& nodes() const noexcept { return nodes_; }

private:
    static constexpr std::uint16_t nobody = 0xFFFF;
    SlotMap() { owners_.fill(nobody); }
    std::uint16_t number_of(const Address& node);

    std::vector<Address> nodes_;
    std::array<std::uint16_t, slot_count> owners_{};  ///< index of `nodes_`
};

/// Where a MOVED or an ASK points to. An empty host means the one that said it.
struct Redirection {
    bool moved = false;  ///< else ASK: this once
    std::uint16_t slot = 0;
    Address to;
};
std::optional<Redirection> redirection_of(const Reply& reply, const Address& teller);

}  // namespace nebis::redis
