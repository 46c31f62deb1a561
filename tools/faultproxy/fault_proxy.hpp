// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

/// Stands between a client and a server and spoils what they say to each other, on command.
namespace nebis::faultproxy {

enum class Way : std::uint8_t { to_server, to_client };

/// What becomes of the bytes of one way. The default: they pass.
struct Faults {
    /// Each chunk (at most 16 KiB) and the end of the stream come that much later; at most a minute.
    std::chrono::milliseconds delay{0};
    bool drop = false;                   ///< bytes are swallowed from now on; an end of the stream still passes
    std::size_t slice = 0;               ///< passed on in pieces of at most so many bytes, 1 ms apart; 0: as they come
    std::uint64_t bytes_per_second = 0;  ///< 0: without limit
};

/// What becomes of a connection when a reply on it was swallowed.
enum class After : std::uint8_t {
    keep,   ///< it goes on: what the server says next passes as soon as the client has spoken again
    cut,    ///< closed, orderly, on both sides
    reset,  ///< RST on both sides
};

/// Since the proxy began. The proxy knows no protocol: a request is what a client says until the server says something,
/// a reply what the server says until the client does.
struct Counts {
    std::uint64_t connections = 0;  ///< accepted
    std::uint64_t open = 0;         ///< of these, now
    std::uint64_t requests = 0;     ///< that reached the proxy
    std::uint64_t lost_replies = 0;
    std::uint64_t swallowed_bytes = 0;  ///< by `drop` or with a lost reply
};

/// Listens on a loopback port and has one thread. A fault counts for live connections and new ones alike, and is in
/// force when the call returns; bytes that have left the proxy by then are gone. Memory: 32 KiB a connection, at most
/// 1024 of these (others are reset); who isn't read from is made to wait.
///
/// **Errors**: the constructor throws `std::system_error` when it can't listen or `host` is no address; a value out of
/// its limits throws `std::invalid_argument`. A server that can't be reached within 5 s is a reset for the client.
/// **Time**: calls return at once, but `wait_until`. **Threads**: safe. **Lifetime**: the destructor resets what is
/// open and ends the thread.
class FaultProxy {
public:
    /// In front of that server; `host` is an address, not a name. `listen` 0: a free port.
    explicit FaultProxy(std::uint16_t server_port, const std::string& host = "127.0.0.1", std::uint16_t listen = 0);
    ~FaultProxy();
    FaultProxy(const FaultProxy&) = delete;
    FaultProxy& operator=(const FaultProxy&) = delete;

    std::uint16_t port() const noexcept;
    std::string address() const;  ///< "127.0.0.1:port"

    void set(Way way, const Faults& faults);
    Faults faults(Way way) const;

    /// As if a cable were pulled: connections are accepted, nothing moves, ends of streams don't either. Without the
    /// black hole all that flows on.
    void black_hole(bool on);

    /// The `nth` request from now on that contains `marker` (1 to 256 bytes) reaches the server, its reply is
    /// swallowed. Once; at most 64 of these wait.
    void lose_reply_to(const std::string& marker, After after, unsigned nth = 1);
    /// The same for the next request, whatever it is.
    void lose_next_reply(After after);

    void cut();    ///< all connections: closed, orderly, on both sides
    void reset();  ///< all connections: RST on both sides
    void heal();   ///< no fault any more, and none waiting; connections that are gone stay gone

    Counts counts() const;
    /// Blocks until it holds. False: it didn't within `longest`.
    bool wait_until(const std::function<bool(const Counts&)>& holds,
                    std::chrono::milliseconds longest = std::chrono::seconds(30)) const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace nebis::faultproxy
