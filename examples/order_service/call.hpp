// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shop {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// "127.0.0.1:8080". **Errors**: throws std::invalid_argument.
struct Endpoint {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    static Endpoint parse(std::string_view text);
};

struct CallReply {
    int status = 0;
    Headers headers;
    std::string body;
    std::string_view header(std::string_view name) const noexcept;
};

/// What became of one call. Whoever calls a bank needs to know the difference between the two ways to fail.
struct CallResult {
    std::optional<CallReply> reply;  ///< a whole answer
    bool sent = false;               ///< without an answer: bytes may have arrived, so nobody knows what happened
    std::string why;                 ///< without an answer
};

/// One HTTP request on a connection of its own. **Time**: `timeout` at most.
CallResult call(const Endpoint& to, std::string_view method, const std::string& target, const Headers& headers,
                std::string body, std::chrono::milliseconds timeout);

}  // namespace shop
