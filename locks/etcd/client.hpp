// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http.hpp"
#include "wire.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::etcd {

/// Calls to a cluster: the member that answers, logged in. **Threads**: safe. **Errors** of all calls: see etcd.hpp.
class Client {
public:
    Client(std::shared_ptr<const Options> options, std::vector<Address> members)
        : options_(std::move(options)), members_(std::move(members)) {}

    Result<std::int64_t> grant(std::int64_t ttl_seconds, Deadline deadline);
    /// The whole time of the lease, in seconds, from now on; 0: there is no such lease.
    Result<std::int64_t> keep_alive(std::int64_t lease, Deadline deadline);
    /// Its keys go too. What fails is not told: the lease ends by itself.
    void revoke(std::int64_t lease, Deadline deadline);
    Result<TxnReply> txn(const std::string& body, std::string_view key, Deadline deadline);

private:
    /// The body of a good reply.
    Result<std::string> call(std::string_view path, const std::string& body, Deadline deadline);
    Result<std::string> call_member(HttpClient& http, const Address& member, std::string_view path,
                                    const std::string& body, Deadline deadline);
    Result<std::string> token(HttpClient& http, const Address& member, const std::string& stale, Deadline deadline);

    std::unique_ptr<HttpClient> take();
    void give_back(std::unique_ptr<HttpClient> http);

    static constexpr std::size_t most_idle = 8;
    const std::shared_ptr<const Options> options_;
    const std::vector<Address> members_;
    std::atomic<std::size_t> preferred_{0};  ///< the member that answered last
    std::mutex mutex_;
    std::vector<std::unique_ptr<HttpClient>> idle_;
    std::string token_;
};

}  // namespace nebis::etcd
