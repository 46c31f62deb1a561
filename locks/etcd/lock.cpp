// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"
#include "driver/lock_mark.hpp"
#include "nebis/etcd.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace nebis::etcd {
namespace {

/// What a lock costs when its owner dies: etcd counts whole seconds, and the mark must never outlive its lease.
std::int64_t ttl_for(std::int64_t lease_millis) { return (driver::end_of_lease(0, lease_millis) + 999) / 1000 + 1; }

/// Between these two lies every mark of the owner that isn't over: the owner first, then the end.
std::string over_at(const Owner& owner, std::int64_t now) { return driver::encode({owner, now}); }
std::string last_of(const Owner& owner) { return driver::encode({owner, -1}); }

Error as(ErrorKind kind, const Error& why) {
    return Error(kind, why.message(), why.detail(), why.hint()).with_code(why.code());
}

class EtcdLock final : public Lock {
public:
    EtcdLock(std::shared_ptr<const Options> options, std::vector<Address> members)
        : options_(options), client_(std::move(options), std::move(members)) {}

    std::string_view name() const noexcept override { return "etcd"; }

    Result<std::int64_t> acquire(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                                 Deadline deadline) override {
        return guarded<std::int64_t>([&]() -> Result<std::int64_t> {
            const auto lease = client_.grant(ttl_for(lease_millis), deadline);
            if (!lease) {
                // A lease without a key: the lock was surely not taken, and the lease ends by itself.
                return lease.error().kind() == ErrorKind::maybe_applied ? as(ErrorKind::unavailable, lease.error())
                                                                        : lease.error();
            }
            auto rest = take(driver::lock_name(options_->key_prefix, name), owner, lease_millis, *lease, deadline);
            if (rest && *rest > 0) client_.revoke(*lease, deadline);
            return rest;
        });
    }

    Result<bool> renew(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                       Deadline deadline) override {
        return guarded<bool>([&]() -> Result<bool> {
            const std::string key = driver::lock_name(options_->key_prefix, name);
            auto moved = prolong(key, owner, lease_millis, 0, deadline);
            if (!moved) return std::move(moved).error();
            if (!moved->succeeded) return false;
            if (!moved->kept)
                return Error(ErrorKind::maybe_applied, "etcd tells no value before").with_code("etcd-reply");
            // From here on the mark says more than the lease holds.
            const auto ttl = client_.keep_alive(moved->kept->lease, deadline);
            if (!ttl) return as(ErrorKind::maybe_applied, ttl.error());
            if (*ttl == 0) return false;
            if (*ttl >= ttl_for(lease_millis)) return true;
            return under_a_longer_lease(key, owner, lease_millis, moved->kept->lease, deadline);
        });
    }

    Result<bool> release(std::string_view name, const Owner& owner, Deadline deadline) override {
        return guarded<bool>([&]() -> Result<bool> {
            const std::string key = driver::lock_name(options_->key_prefix, name);
            auto gone = client_.txn(delete_if_between(key, over_at(owner, now()), last_of(owner)), key, deadline);
            if (!gone) return std::move(gone).error();
            if (gone->succeeded && gone->kept && gone->kept->lease != 0) client_.revoke(gone->kept->lease, deadline);
            return gone->succeeded;
        });
    }

private:
    template <class T, class Step>
    static Result<T> guarded(Step step) {
        try {
            return step();
        } catch (const std::exception& thrown) {
            return Error(ErrorKind::maybe_applied, "no resources to talk to etcd", thrown.what());
        }
    }

    std::int64_t now() const { return driver::wall_millis(options_->clock); }

    /// 0: taken under that lease.
    Result<std::int64_t> take(const std::string& key, const Owner& owner, std::int64_t lease_millis, std::int64_t lease,
                              Deadline deadline) {
        constexpr int most_rounds = 4;
        std::optional<Kept> seen;
        for (int round = 0; round < most_rounds; ++round) {
            const std::string mark = driver::encode({owner, driver::end_of_lease(now(), lease_millis)});
            auto reply = client_.txn(
                seen ? put_if_unchanged(key, seen->mod_revision, mark, lease) : put_if_absent(key, mark, lease), key,
                deadline);
            if (!reply) return std::move(reply).error();
            if (reply->succeeded) {
                // Of our own earlier try whose reply was lost; another's ends by itself.
                if (seen && seen->lease != 0 && is_of(owner, *seen)) client_.revoke(seen->lease, deadline);
                return std::int64_t{0};
            }
            seen = std::move(reply->kept);
            if (!seen) continue;
            // No mark, or one that is over: nobody's.
            const auto held = driver::decode_mark(seen->value);
            const auto rest = held ? held->until_millis - now() : 0;
            if (rest > 0 && held->owner != owner) return rest;
        }
        return std::int64_t{1};  // it changes hands faster than we look
    }

    static bool is_of(const Owner& owner, const Kept& kept) {
        const auto mark = driver::decode_mark(kept.value);
        return mark && mark->owner == owner;
    }

    /// A new end for a mark of ours that isn't over. `lease` 0: under the lease it has.
    Result<TxnReply> prolong(const std::string& key, const Owner& owner, std::int64_t lease_millis, std::int64_t lease,
                             Deadline deadline) {
        const auto from = now();
        const std::string mark = driver::encode({owner, driver::end_of_lease(from, lease_millis)});
        return client_.txn(put_if_between(key, over_at(owner, from), last_of(owner), mark, lease), key, deadline);
    }

    /// A lease keeps the length it was granted with.
    Result<bool> under_a_longer_lease(const std::string& key, const Owner& owner, std::int64_t lease_millis,
                                      std::int64_t shorter, Deadline deadline) {
        const auto lease = client_.grant(ttl_for(lease_millis), deadline);
        if (!lease) return as(ErrorKind::maybe_applied, lease.error());
        auto moved = prolong(key, owner, lease_millis, *lease, deadline);
        if (!moved) return as(ErrorKind::maybe_applied, moved.error());
        client_.revoke(moved->succeeded ? shorter : *lease, deadline);
        return moved->succeeded;
    }

    const std::shared_ptr<const Options> options_;
    Client client_;
};

Error bad(std::string message, std::string hint) {
    return Error(ErrorKind::misconfigured, std::move(message), {}, std::move(hint)).with_code("etcd-setting");
}

}  // namespace

Result<std::shared_ptr<Lock>> lock(Options options) {
    if (auto fits = driver::check_prefix(options.key_prefix, "etcd-setting"); !fits) return std::move(fits).error();
    if (options.connect_timeout <= std::chrono::milliseconds::zero())
        return bad("no time to connect to etcd", "`lock.connect-timeout-millis` must be at least 1");
    if (options.addresses.empty()) return bad("no address of etcd", "`lock.address` must name at least one member");
    const auto& who = options.credentials;
    if (who.username.empty() && !(who.password.empty() && who.password_file.empty()))
        return bad("a password for etcd without a user", "set `lock.username`");
    if (options.tls.cert_file.empty() != options.tls.key_file.empty())
        return bad("half a certificate for etcd", "set both `lock.tls-cert-file` and `lock.tls-key-file`, or neither");
    std::vector<Address> members;
    for (const auto& text : options.addresses) {
        auto one = parse_address(text);
        if (!one) return std::move(one).error();
        members.push_back(*std::move(one));
    }
    return std::shared_ptr<Lock>(
        std::make_shared<EtcdLock>(std::make_shared<const Options>(std::move(options)), std::move(members)));
}

}  // namespace nebis::etcd
