// SPDX-License-Identifier: Apache-2.0
#include "address.hpp"
#include "driver/lock_mark.hpp"
#include "leftovers.hpp"
#include "names.hpp"
#include "nodes.hpp"

#include <exception>
#include <utility>

namespace nebis::zookeeper {
namespace {

constexpr int most_rounds = 4;  // of looking and changing what somebody else has changed in between

class ZookeeperLock final : public Lock {
public:
    ZookeeperLock(std::shared_ptr<const Options> options, std::string hosts, Names names)
        : options_(std::move(options)),
          names_(std::move(names)),
          leftovers_(std::make_shared<Leftovers>()),
          // The session's thread may outlive us: it holds what it needs.
          session_(std::make_shared<Session>(options_, std::move(hosts),
                                             [options = options_, leftovers = leftovers_](Session& session) {
                                                 sweep(*leftovers, session, *options);
                                             })) {}
    ~ZookeeperLock() override { session_->end(); }
    ZookeeperLock(const ZookeeperLock&) = delete;
    ZookeeperLock& operator=(const ZookeeperLock&) = delete;

    std::string_view name() const noexcept override { return "zookeeper"; }

    Result<std::int64_t> acquire(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                                 Deadline deadline) override {
        return guarded<std::int64_t>([&] {
            const std::string path = names_.of(name);
            auto rest = take(path, owner, lease_millis, deadline);
            note(rest ? *rest == 0 : rest.error().kind() == ErrorKind::maybe_applied, path, lease_millis);
            return rest;
        });
    }

    Result<bool> renew(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                       Deadline deadline) override {
        return guarded<bool>([&] {
            const std::string path = names_.of(name);
            auto renewed = on_ours(path, owner, deadline, [&](const Node& node) {
                return put(path, node, mark_of(owner, lease_millis), deadline);
            });
            note(renewed ? *renewed : renewed.error().kind() == ErrorKind::maybe_applied, path, lease_millis);
            return renewed;
        });
    }

    Result<bool> release(std::string_view name, const Owner& owner, Deadline deadline) override {
        return guarded<bool>([&] {
            const std::string path = names_.of(name);
            const auto stamp = leftovers_->stamp(path);
            auto released = on_ours(path, owner, deadline,
                                    [&](const Node& node) { return remove(*session_, path, node.version, deadline); });
            if (released && *released) leftovers_->forget(path, stamp);
            return released;
        });
    }

private:
    template <class T, class Step>
    static Result<T> guarded(Step step) {
        try {
            return step();
        } catch (const std::exception& thrown) {
            return Error(ErrorKind::maybe_applied, "no resources to talk to ZooKeeper", thrown.what());
        }
    }

    static void sweep(Leftovers& leftovers, Session& session, const Options& options) {
        try {
            leftovers.sweep(session, driver::wall_millis(options.clock));
        } catch (const std::exception&) {  // no memory: in a second again
        }
    }

    std::int64_t now() const { return driver::wall_millis(options_->clock); }

    std::string mark_of(const Owner& owner, std::int64_t lease_millis) const {
        return driver::encode({owner, driver::end_of_lease(now(), lease_millis)});
    }

    void note(bool perhaps_ours, const std::string& path, std::int64_t lease_millis) {
        if (perhaps_ours) leftovers_->note(path, lease_millis);
    }

    /// 0: taken.
    Result<std::int64_t> take(const std::string& path, const Owner& owner, std::int64_t lease_millis,
                              Deadline deadline) {
        for (int round = 0; round < most_rounds; ++round) {
            auto made = make_ephemeral(*session_, path, mark_of(owner, lease_millis), deadline);
            if (!made) return std::move(made).error();
            if (*made == Did::it) return std::int64_t{0};
            if (*made == Did::not_there) {
                if (auto parents = make_parents(deadline); !parents) return std::move(parents).error();
                continue;
            }
            const auto node = look(*session_, path, deadline);
            if (!node) return node.error();
            if (!*node) continue;
            // No mark, or one that is over: nobody's.
            const auto held = driver::decode_mark((*node)->value);
            const auto rest = held ? held->until_millis - now() : 0;
            if (rest > 0 && held->owner != owner) return rest;
            auto taken = put(path, **node, mark_of(owner, lease_millis), deadline);
            if (!taken) return std::move(taken).error();
            if (*taken == Did::it) return std::int64_t{0};
        }
        return std::int64_t{1};  // it changes hands faster than we look
    }

    Result<void> make_parents(Deadline deadline) {
        for (const auto& parent : names_.parents()) {
            auto made = make_persistent(*session_, parent, deadline);
            if (made) continue;
            // Without them no lock was taken.
            const auto& why = made.error();
            if (why.kind() != ErrorKind::maybe_applied) return why;
            return Error(ErrorKind::unavailable, why.message(), why.detail(), why.hint()).with_code(why.code());
        }
        return {};
    }

    /// The mark in place of what lies there, in a node of our session.
    Result<Did> put(const std::string& path, const Node& node, const std::string& mark, Deadline deadline) {
        return node.session == session_->id() ? change(*session_, path, mark, node.version, deadline)
                                              : replace(*session_, path, mark, node.version, deadline);
    }

    /// `step` on the owner's lock that isn't over; false: there is none.
    template <class Step>
    Result<bool> on_ours(const std::string& path, const Owner& owner, Deadline deadline, Step step) {
        for (int round = 0; round < most_rounds; ++round) {
            const auto node = look(*session_, path, deadline);
            if (!node) return node.error();
            const auto mark = *node ? driver::decode_mark((*node)->value) : std::nullopt;
            if (!mark || mark->owner != owner || mark->until_millis <= now()) return false;
            auto did = step(**node);
            if (!did) return std::move(did).error();
            if (*did == Did::it) return true;
        }
        return false;
    }

    const std::shared_ptr<const Options> options_;
    const Names names_;
    const std::shared_ptr<Leftovers> leftovers_;
    const std::shared_ptr<Session> session_;
};

Error bad(std::string message, std::string hint) {
    return Error(ErrorKind::misconfigured, std::move(message), {}, std::move(hint)).with_code("zookeeper-setting");
}

}  // namespace

Result<std::shared_ptr<Lock>> lock(Options options) {
    auto names = Names::under(options.key_prefix);
    if (!names) return std::move(names).error();
    auto hosts = connect_string(options.addresses);
    if (!hosts) return std::move(hosts).error();
    constexpr std::chrono::minutes longest{10};
    if (options.session_timeout <= std::chrono::milliseconds::zero() || options.session_timeout > longest)
        return bad("a session with ZooKeeper can't last that long",
                   "`lock.session-timeout-millis` must be from 1 to 600000");
    if (options.connect_timeout <= std::chrono::milliseconds::zero())
        return bad("no time to connect to ZooKeeper", "`lock.connect-timeout-millis` must be at least 1");
    const auto& who = options.credentials;
    if (who.username.empty() && !(who.password.empty() && who.password_file.empty()))
        return bad("a password for ZooKeeper without a user", "set `lock.username`");
    if (!who.username.empty() && who.password.empty() && who.password_file.empty())
        return bad("a user of ZooKeeper without a password", "set `lock.password` or `lock.password-file`");
    if (who.username.find(':') != std::string::npos)
        return bad("a user of ZooKeeper can't have a colon in its name", "set another `lock.username`");
    return std::shared_ptr<Lock>(std::make_shared<ZookeeperLock>(std::make_shared<const Options>(std::move(options)),
                                                                 *std::move(hosts), *std::move(names)));
}

}  // namespace nebis::zookeeper
