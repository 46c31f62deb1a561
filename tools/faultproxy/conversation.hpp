// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace nebis::faultproxy {

constexpr std::size_t longest_marker = 256;

/// Who spoke last on one connection, and whether the reply that comes next is to be lost.
class Conversation {
public:
    explicit Conversation(Plan& plan) : plan_(plan) {}

    void client_said(std::string_view bytes);
    /// Nothing: these bytes pass. Else they are swallowed, and that becomes of the connection.
    std::optional<After> server_said(std::string_view bytes);

private:
    Plan& plan_;
    bool client_speaks_ = false;
    std::uint64_t request_ = 0;  ///< its number among those of all connections
    std::string tail_;           ///< the end of what the request was so far: a marker may come in two chunks
    std::optional<After> losing_;
    bool begun_losing_ = false;
};

}  // namespace nebis::faultproxy
