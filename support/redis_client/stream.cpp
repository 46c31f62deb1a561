// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

namespace nebis::redis {
namespace {

constexpr std::size_t chunk = 16 * 1024;

std::string last_words() {
    std::array<char, 256> text{};
    const unsigned long code = ::ERR_get_error();
    if (code == 0) return "no further words";
    ::ERR_error_string_n(code, text.data(), text.size());
    ::ERR_clear_error();
    return text.data();
}

Error bad_file(std::string_view key, const std::string& file) {
    return Error(ErrorKind::misconfigured, "a file for TLS with Redis can't be used", file + ": " + last_words(),
                 "`" + std::string(key) + "` must name a readable PEM file that fits")
        .with_code("redis-tls-file");
}

bool is_numeric(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

Error hung_up(std::string_view doing) {
    return Error(ErrorKind::unavailable, "Redis closed the connection", std::string(doing),
                 "look at Redis' log; it may be restarting, or out of connections (maxclients)")
        .with_code("redis-closed");
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const Tls& options) {
    ::ERR_clear_error();
    ssl_ctx_st* const context = ::SSL_CTX_new(::TLS_client_method());
    if (!context) throw std::bad_alloc();
    std::shared_ptr<const TlsContext> made(new TlsContext(context, options.server_name));
    ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (options.ca_file.empty()) {
        if (::SSL_CTX_set_default_verify_paths(context) != 1) return bad_file("tls-ca-file", "(the system's)");
    } else if (::SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) != 1) {
        return bad_file("tls-ca-file", options.ca_file);
    }
    if (!options.cert_file.empty() && ::SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1)
        return bad_file("tls-cert-file", options.cert_file);
    if (!options.key_file.empty() &&
        ::SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
        return bad_file("tls-key-file", options.key_file);
    return made;
}

TlsContext::~TlsContext() { ::SSL_CTX_free(context_); }

Stream::~Stream() { ::SSL_free(ssl_); }
Stream::Stream(Stream&& other) noexcept : socket_(std::move(other.socket_)), ssl_(std::exchange(other.ssl_, nullptr)) {}
Stream& Stream::operator=(Stream&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(ssl_, other.ssl_);
    return *this;
}

Result<Stream> Stream::open(const Address& address, const TlsContext* tls, Deadline deadline) {
    auto socket = Socket::connect(address, deadline);
    if (!socket) return std::move(socket).error();
    Stream made(*std::move(socket));
    if (tls)
        if (auto shaken = made.shake_hands(address, *tls, deadline); !shaken) return std::move(shaken).error();
    return made;
}

Result<void> Stream::shake_hands(const Address& address, const TlsContext& tls, Deadline deadline) {
    ::ERR_clear_error();
    ssl_ = ::SSL_new(tls.get());
    if (!ssl_) throw std::bad_alloc();
    // OpenSSL sees memory only: waiting, deadlines and SIGPIPE stay the socket's business.
    ::SSL_set_bio(ssl_, ::BIO_new(::BIO_s_mem()), ::BIO_new(::BIO_s_mem()));
    const std::string name = tls.server_name().empty() ? address.host : tls.server_name();
    if (is_numeric(name)) {
        ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_), name.c_str());
    } else {
        ::SSL_set_tlsext_host_name(ssl_, name.c_str());
        ::SSL_set_hostflags(ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        if (::SSL_set1_host(ssl_, name.c_str()) != 1) throw std::bad_alloc();
    }
    for (;;) {
        const int done = ::SSL_connect(ssl_);
        const int why = ::SSL_get_error(ssl_, done);
        std::size_t sent = 0;
        if (auto out = flush(sent, deadline); !out) return out;
        if (done == 1) return {};
        if (why != SSL_ERROR_WANT_READ) {
            const long verdict = ::SSL_get_verify_result(ssl_);
            if (verdict != X509_V_OK) {
                ::ERR_clear_error();
                return Error(ErrorKind::misconfigured, "the certificate of Redis can't be trusted",
                             ::X509_verify_cert_error_string(verdict),
                             "`tls-ca-file` must hold its authority, and the certificate the name of "
                             "`address` or `tls-server-name`")
                    .with_code("redis-certificate");
            }
            return Error(ErrorKind::misconfigured, "no TLS with Redis", last_words(),
                         "check that this port of Redis speaks TLS, and whether it wants `tls-cert-file`")
                .with_code("redis-tls");
        }
        auto more = fill(deadline);
        if (!more) return std::move(more).error();
        if (!*more) return hung_up("while agreeing on TLS");
    }
}

/// What OpenSSL wants to be sent.
Result<void> Stream::flush(std::size_t& sent, Deadline deadline) {
    sent = 0;
    char* bytes = nullptr;
    const long size = ::BIO_get_mem_data(::SSL_get_wbio(ssl_), &bytes);
    if (size <= 0) return {};
    auto out = socket_.send({bytes, static_cast<std::size_t>(size)}, sent, deadline);
    (void)BIO_reset(::SSL_get_wbio(ssl_));  // a macro
    return out;
}

/// False: the other side closed.
Result<bool> Stream::fill(Deadline deadline) {
    std::array<char, chunk> bytes;  // NOLINT: filled by receive
    auto got = socket_.receive(bytes.data(), bytes.size(), deadline);
    if (!got) return std::move(got).error();
    if (*got > 0) ::BIO_write(::SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(*got));
    return *got > 0;
}

Result<void> Stream::send(std::string_view bytes, std::size_t& sent, Deadline deadline) {
    if (!ssl_) return socket_.send(bytes, sent, deadline);
    ::ERR_clear_error();
    sent = 0;
    while (!bytes.empty()) {
        const auto part = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
        const int done = ::SSL_write(ssl_, bytes.data(), static_cast<int>(part));
        if (done <= 0) return hung_up("while sending: " + last_words());
        bytes.remove_prefix(static_cast<std::size_t>(done));
        std::size_t flushed = 0;
        auto out = flush(flushed, deadline);
        sent += flushed;
        if (!out) return out;
    }
    return {};
}

Result<std::size_t> Stream::receive(char* out, std::size_t size, Deadline deadline) {
    if (!ssl_) return socket_.receive(out, size, deadline);
    ::ERR_clear_error();
    for (;;) {
        const int got = ::SSL_read(ssl_, out, static_cast<int>(std::min<std::size_t>(size, chunk)));
        if (got > 0) return static_cast<std::size_t>(got);
        const int why = ::SSL_get_error(ssl_, got);
        if (why == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
        if (why != SSL_ERROR_WANT_READ) return hung_up("while receiving: " + last_words());
        std::size_t sent = 0;  // a key update asks for an answer
        if (auto flushed = flush(sent, deadline); !flushed) return std::move(flushed).error();
        auto more = fill(deadline);
        if (!more) return std::move(more).error();
        if (!*more) return std::size_t{0};
    }
}

bool Stream::quiet() {
    if (!ssl_) return !socket_.has_something();
    ::ERR_clear_error();
    // What TLS itself sends (session tickets) is no reply.
    while (socket_.has_something()) {
        auto more = fill(std::chrono::steady_clock::now());
        if (!more || !*more) return false;
    }
    char byte = 0;
    const int got = ::SSL_peek(ssl_, &byte, 1);
    return got <= 0 && ::SSL_get_error(ssl_, got) == SSL_ERROR_WANT_READ;
}

}  // namespace nebis::redis
