// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/redis_options.hpp"
#include "socket.hpp"

#include <memory>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace nebis::redis {

/// Authorities and our own certificate, read once. **Threads**: safe.
class TlsContext {
public:
    /// **Errors**: `misconfigured` when a file can't be used.
    static Result<std::shared_ptr<const TlsContext>> make(const Tls& options);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    ssl_ctx_st* get() const noexcept { return context_; }
    const std::string& server_name() const noexcept { return server_name_; }

private:
    explicit TlsContext(ssl_ctx_st* context, std::string name) : context_(context), server_name_(std::move(name)) {}
    ssl_ctx_st* context_;
    std::string server_name_;
};

/// A socket, with TLS around it when a context is given. **Errors**: `unavailable`; `misconfigured` for a certificate
/// that can't be trusted.
class Stream {
public:
    static Result<Stream> open(const Address& address, const TlsContext* tls, Deadline deadline);
    ~Stream();
    Stream(Stream&& other) noexcept;
    Stream& operator=(Stream&& other) noexcept;

    /// `sent` is 0 only when not a byte of it can have reached the server.
    Result<void> send(std::string_view bytes, std::size_t& sent, Deadline deadline);
    Result<std::size_t> receive(char* out, std::size_t size, Deadline deadline);  ///< as Socket's
    /// True while the connection stands and nothing has come that nobody asked for.
    bool quiet();

private:
    explicit Stream(Socket socket) : socket_(std::move(socket)) {}
    Result<void> shake_hands(const Address& address, const TlsContext& tls, Deadline deadline);
    Result<void> flush(std::size_t& sent, Deadline deadline);
    Result<bool> fill(Deadline deadline);

    Socket socket_;
    ssl_st* ssl_ = nullptr;
};

}  // namespace nebis::redis
