// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reply.hpp"
#include "stream.hpp"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace nebis::redis {

/// Commands in the form they are sent in, one after the other.
class Commands {
public:
    void add(std::initializer_list<std::string_view> words);
    /// A command whose number of words is known only now: `begin(n)`, then n times `word`.
    void begin(std::size_t words);
    void word(std::string_view bytes);

    std::size_t count() const noexcept { return count_; }
    const std::string& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
    std::size_t count_ = 0;
};

/// How to open a connection, whoever it is to.
struct Opening {
    Credentials credentials;
    int database = 0;
    std::shared_ptr<const TlsContext> tls;  ///< null: none
    ReplyLimits limits;
};

/// One connection that is logged in. Once it failed, or while it owes a reply, it must not be used again: what comes
/// next could be the answer to somebody else's question. **Threads**: one at a time.
class Connection {
public:
    /// **Errors**: `unavailable`, `overloaded`, `misconfigured`.
    static Result<std::unique_ptr<Connection>> open(const Address& address, const Opening& how, Deadline deadline);

    /// False: throw it away. Asked before each use.
    bool usable();
    /// **Errors**: `unavailable` when not a byte went out; `maybe_applied`.
    Result<void> send(const Commands& commands, Deadline deadline);
    /// The next reply, which may be an error of the server. **Errors**: `maybe_applied`.
    Result<Reply> receive(Deadline deadline);
    /// What a subscriber is told; empty: nothing until the deadline.
    Result<std::optional<Reply>> listen(Deadline deadline);
    /// One command, one reply.
    Result<Reply> ask(const Commands& command, Deadline deadline);

    const Address& address() const noexcept { return address_; }

private:
    Connection(Address address, Stream stream, ReplyLimits limits)
        : address_(std::move(address)), stream_(std::move(stream)), reader_(limits) {}
    Result<void> log_in(const Opening& how, Deadline deadline);
    Error lost(Error why);

    Address address_;
    Stream stream_;
    ReplyReader reader_;
    std::size_t owed_ = 0;
    bool broken_ = false;
};

}  // namespace nebis::redis
