// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/request.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

namespace nebis::http {

struct Route;

/// One request on its way from the wire to its handler.
struct Incoming {
    Request request;               ///< all but the body once `admit` is called; whole for `serve`
    const Route* route = nullptr;  ///< found by `admit`
    std::size_t body_limit = 0;    ///< set by `admit`
    std::stop_token gone;          ///< fires when the client hangs up while its request is in hand
};

/// What stands behind the wire. The wire knows HTTP's syntax, the site its meaning; neither includes the other's
/// libraries.
class Site {
public:
    using Answered = std::function<void(Response)>;

    virtual ~Site() = default;
    /// The header is there and well formed. A Response refuses the request before a byte of its body is read.
    virtual std::optional<Response> admit(Incoming& incoming) = 0;
    /// Calls `answered` exactly once, from any thread, perhaps before it returns. Never blocks.
    virtual void serve(Incoming incoming, Answered answered) = 0;
    /// A refusal of the wire's own, by the word of its problem type.
    virtual Response refuse(std::string_view word, std::string_view detail) = 0;
    virtual void log(std::string_view line) = 0;
};

}  // namespace nebis::http
