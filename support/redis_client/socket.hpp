// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "address.hpp"
#include "nebis/error.hpp"
#include "nebis/store.hpp"

#include <cstddef>
#include <string_view>

namespace nebis::redis {

/// One stream socket that never waits past a deadline. **Errors**: `unavailable`.
class Socket {
public:
    Socket() = default;
    ~Socket();
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;

    /// TCP without delay and with keep-alive, or a Unix socket. Each address of a name gets its share of the time.
    static Result<Socket> connect(const Address& address, Deadline deadline);

    /// How many bytes went out before an error is told by `sent`, also then.
    Result<void> send(std::string_view bytes, std::size_t& sent, Deadline deadline);
    /// At least one byte; 0: the other side closed.
    Result<std::size_t> receive(char* out, std::size_t size, Deadline deadline);
    /// True when a byte, or the end, is there to be received.
    bool has_something() const noexcept;

private:
    explicit Socket(int fd) noexcept : fd_(fd) {}
    int fd_ = -1;
};

/// `unavailable`: the deadline passed while `doing`.
Error took_too_long(std::string_view doing);

}  // namespace nebis::redis
