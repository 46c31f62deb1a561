// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/etcd.hpp"
#include "nebis/store.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::etcd {

struct Address {
    std::string host;  ///< an IPv6 address in its brackets
    std::uint16_t port = 0;
    std::string text() const { return host + ":" + std::to_string(port); }
};

/// **Errors**: `misconfigured`.
Result<Address> parse_address(const std::string& text);

struct HttpReply {
    long status = 0;
    std::string body;
};

/// One HTTP client: one request at a time, connections kept open between them. libcurl without its freedoms: no
/// redirects, no proxies of the environment, no request said twice.
class HttpClient {
public:
    explicit HttpClient(std::shared_ptr<const Options> options);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// **Errors**: `unavailable` when the request can't have arrived; `maybe_applied` from its first byte on;
    /// `misconfigured` for TLS that doesn't fit. **Time**: by the deadline.
    Result<HttpReply> post(const Address& address, std::string_view path, const std::string& body,
                           const std::string& token, Deadline deadline);

private:
    struct Progress;
    void prepare();
    Error failed(int code, const Progress& progress, const Address& address) const;

    const std::shared_ptr<const Options> options_;
    void* curl_;                                    ///< CURL
    std::unique_ptr<std::array<char, 256>> words_;  ///< libcurl's last
};

}  // namespace nebis::etcd
