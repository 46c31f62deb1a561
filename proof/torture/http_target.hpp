// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "target.hpp"

#include <array>
#include <mutex>

namespace nebis::torture {

/// The order service over HTTP.
class HttpTarget : public Target {
public:
    proof::Call ask(const Ask& ask) override;
    void moved(int instance, const shop::Endpoint& to);

private:
    std::mutex mutex_;
    std::array<shop::Endpoint, 2> endpoints_;
};

/// What an answer of the order service means to its client.
proof::Said meaning(const shop::CallReply& reply, bool order);

}  // namespace nebis::torture
