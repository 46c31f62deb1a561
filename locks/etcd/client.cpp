// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include "driver/password_file.hpp"
#include "errors.hpp"

#include <utility>

namespace nebis::etcd {
namespace {

/// Of a call before ours was sent: whatever became of it, ours surely wasn't applied.
Error as_not_applied(Error why) {
    if (why.kind() != ErrorKind::maybe_applied) return why;
    return Error(ErrorKind::unavailable, why.message(), why.detail(), why.hint()).with_code(why.code());
}

}  // namespace

std::unique_ptr<HttpClient> Client::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto http = std::move(idle_.back());
            idle_.pop_back();
            return http;
        }
    }
    return std::make_unique<HttpClient>(options_);
}

void Client::give_back(std::unique_ptr<HttpClient> http) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle) idle_.push_back(std::move(http));
}

Result<std::string> Client::call(std::string_view path, const std::string& body, Deadline deadline) {
    auto http = take();
    const std::size_t first = preferred_.load(std::memory_order_relaxed);
    Result<std::string> out = Error(ErrorKind::internal, "no member was asked");
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const std::size_t which = (first + i) % members_.size();
        out = call_member(*http, members_[which], path, body, deadline);
        const bool alive =
            out || (out.error().kind() != ErrorKind::unavailable && out.error().kind() != ErrorKind::maybe_applied);
        preferred_.store(alive ? which : (which + 1) % members_.size(), std::memory_order_relaxed);
        // The next member may be asked the same only when this one surely did nothing.
        if (alive || out.error().kind() == ErrorKind::maybe_applied || is_lease_gone(out.error())) break;
        if (std::chrono::steady_clock::now() >= deadline) break;
    }
    give_back(std::move(http));
    return out;
}

Result<std::string> Client::call_member(HttpClient& http, const Address& member, std::string_view path,
                                        const std::string& body, Deadline deadline) {
    std::string stale;
    for (int tries = 0;; ++tries) {
        auto word = token(http, member, stale, deadline);
        if (!word) return as_not_applied(std::move(word).error());
        auto reply = http.post(member, path, body, *word, deadline);
        if (!reply) return std::move(reply).error();
        if (reply->status == 200) return std::move(reply->body);
        auto why = error_of(reply->status, reply->body);
        // A token that ended, or that a restarted etcd forgot.
        if (!is_token_stale(why) || tries > 0) return why;
        stale = *std::move(word);
    }
}

/// Empty without a user.
Result<std::string> Client::token(HttpClient& http, const Address& member, const std::string& stale,
                                  Deadline deadline) {
    const auto& who = options_->credentials;
    if (who.username.empty()) return std::string();
    {
        const std::lock_guard lock(mutex_);
        if (!token_.empty() && token_ != stale) return token_;
    }
    std::string password = who.password;
    if (!who.password_file.empty()) {
        auto read = driver::read_password(who.password_file, "etcd", "etcd-password-file");
        if (!read) return std::move(read).error();
        password = *std::move(read);
    }
    auto reply = http.post(member, "/v3/auth/authenticate", login_body(who.username, password), {}, deadline);
    if (!reply) return std::move(reply).error();
    if (reply->status != 200) return error_of(reply->status, reply->body);
    auto fresh = read_token(reply->body);
    if (!fresh) return fresh;
    const std::lock_guard lock(mutex_);
    token_ = *fresh;
    return fresh;
}

Result<std::int64_t> Client::grant(std::int64_t ttl_seconds, Deadline deadline) {
    auto reply = call("/v3/lease/grant", grant_body(ttl_seconds), deadline);
    if (!reply) return std::move(reply).error();
    return read_lease_id(*reply);
}

Result<std::int64_t> Client::keep_alive(std::int64_t lease, Deadline deadline) {
    auto reply = call("/v3/lease/keepalive", lease_body(lease), deadline);
    if (!reply) {
        if (is_lease_gone(reply.error())) return std::int64_t{0};
        return std::move(reply).error();
    }
    return read_ttl(*reply);
}

void Client::revoke(std::int64_t lease, Deadline deadline) {
    (void)call("/v3/lease/revoke", lease_body(lease), deadline);
}

Result<TxnReply> Client::txn(const std::string& body, std::string_view key, Deadline deadline) {
    auto reply = call("/v3/kv/txn", body, deadline);
    if (!reply) return std::move(reply).error();
    return read_txn(*reply, key);
}

}  // namespace nebis::etcd
