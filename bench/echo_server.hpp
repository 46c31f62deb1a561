// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace nebis::bench {

/// The least that an HTTP server on Boost.Beast does: reads a request with Beast's parser, answers with the same bytes
/// each time. As many threads as ours, each with its own event loop.
class EchoServer {
public:
    EchoServer(std::size_t threads, std::string body);
    ~EchoServer();
    std::uint16_t port() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace nebis::bench
