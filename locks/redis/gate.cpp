// SPDX-License-Identifier: Apache-2.0
#include "entry.hpp"
#include "nebis/redis.hpp"
#include "redis_client/errors.hpp"
#include "scripts.hpp"
#include "session.hpp"
#include "v1_compat.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace nebis::redis {
namespace {

/// No memory, or no thread for a look-up.
Error no_resources(ErrorKind kind, const std::exception& thrown) {
    return {kind, "no resources to talk to Redis", thrown.what()};
}

/// A subscriber to the leaves of everybody (S54).
class Watch final : public GateWatch {
public:
    explicit Watch(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

    Result<bool> wait(Deadline deadline) override {
        auto told = connection_->listen(deadline);
        if (!told) return std::move(told).error();
        if (!*told) return false;
        if ((*told)->is_error()) return error_of(**told, "listening");
        // Many leave at once: one look at the store is enough for all that have been told by now.
        const auto now = std::chrono::steady_clock::now();
        for (int more = 0; more < 10'000; ++more) {
            auto next = connection_->listen(now);
            if (!next) return std::move(next).error();
            if (!*next) break;
        }
        return true;
    }

private:
    const std::unique_ptr<Connection> connection_;
};

class RedisGate final : public Gate {
public:
    RedisGate(std::shared_ptr<Servers> servers, Usage usage) : servers_(std::move(servers)), usage_(std::move(usage)) {}

    std::string_view name() const noexcept override { return "redis"; }
    GateTraits traits() const noexcept override {
        GateTraits traits;
        traits.max_sessions = 2;  // batches need no more: while one is under way, the next one fills
        traits.keeps_others_out = usage_.v1_compat;
        return traits;
    }

    Result<std::unique_ptr<GateSession>> open(Deadline deadline) override {
        try {
            auto line = make_line(servers_);
            if (auto ready = line->prepare(deadline); !ready) return std::move(ready).error();
            auto session = make_session(std::move(line), usage_);
            if (!usage_.v1_compat) return session;
            return with_v1_locks(std::move(session), make_line(servers_));
        } catch (const std::exception& thrown) {
            return no_resources(ErrorKind::unavailable, thrown);
        }
    }

    Result<std::unique_ptr<GateWatch>> watch(Deadline deadline) override {
        if (!usage_.wake) return std::unique_ptr<GateWatch>();
        try {
            auto connection = servers_->connect_master(deadline);
            if (!connection) return std::move(connection).error();
            Commands subscribe;
            subscribe.add({"SUBSCRIBE", channel_of(usage_.prefix)});
            auto reply = (*connection)->ask(subscribe, deadline);
            if (!reply) return std::move(reply).error();
            if (reply->is_error()) return error_of(*reply, "subscribing");
            return std::unique_ptr<GateWatch>(std::make_unique<Watch>(*std::move(connection)));
        } catch (const std::exception& thrown) {
            return no_resources(ErrorKind::unavailable, thrown);
        }
    }

private:
    const std::shared_ptr<Servers> servers_;
    const Usage usage_;
};

/// Idle lines for those whose interface has no sessions.
class Lines {
public:
    explicit Lines(std::shared_ptr<Servers> servers) : servers_(std::move(servers)) {}

    std::unique_ptr<Line> take() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return make_line(servers_);
        auto line = std::move(idle_.back());
        idle_.pop_back();
        return line;
    }
    /// A line that lost its connection makes a new one by itself.
    void give_back(std::unique_ptr<Line> line) {
        const std::lock_guard lock(mutex_);
        if (idle_.size() < most_idle) idle_.push_back(std::move(line));
    }

    /// One call, one reply.
    Result<Reply> run(const Script& script, Names names, std::vector<std::string> arguments, Deadline deadline) {
        try {
            const Call call{&script, {std::move(names.lock), std::move(names.result)}, std::move(arguments)};
            Result<Reply> out = Error(ErrorKind::internal, "not set");
            auto line = take();
            line->run({&call, 1}, {&out, 1}, deadline);
            give_back(std::move(line));
            return out;
        } catch (const std::exception& thrown) {
            return no_resources(ErrorKind::maybe_applied, thrown);
        }
    }

private:
    static constexpr std::size_t most_idle = 8;
    const std::shared_ptr<Servers> servers_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Line>> idle_;
};

class RedisLock final : public Lock {
public:
    RedisLock(std::shared_ptr<Servers> servers, std::string prefix)
        : gate_(std::move(servers), Usage{std::move(prefix), false, true}) {}

    std::string_view name() const noexcept override { return "redis"; }
    Result<std::int64_t> acquire(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                                 Deadline deadline) override {
        const EnterRequest request{name, owner, {}, lease_millis, {}};
        auto out = with_session<EnterOutcome>(deadline, [&](GateSession& session, auto out) {
            session.enter({&request, 1}, out, deadline);
        });
        if (!out) return std::move(out).error();
        return out->remaining_millis;
    }
    Result<bool> renew(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                       Deadline deadline) override {
        const LockRenewRequest request{name, owner, lease_millis, {}};
        return with_session<bool>(deadline, [&](GateSession& session, auto out) {
            session.renew({&request, 1}, out, deadline);
        });
    }
    Result<bool> release(std::string_view name, const Owner& owner, Deadline deadline) override {
        const LeaveRequest request{name, owner, nullptr, 0, {}};
        return with_session<bool>(deadline, [&](GateSession& session, auto out) {
            session.leave({&request, 1}, out, deadline);
        });
    }

private:
    template <class T, class Step>
    Result<T> with_session(Deadline deadline, Step step) {
        std::unique_ptr<GateSession> session;
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                session = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (!session) {
            auto opened = gate_.open(deadline);
            if (!opened) return std::move(opened).error();
            session = *std::move(opened);
        }
        Result<T> out = Error(ErrorKind::internal, "not set");
        step(*session, std::span<Result<T>>(&out, 1));
        const std::lock_guard lock(mutex_);
        if (idle_.size() < most_idle) idle_.push_back(std::move(session));
        return out;
    }

    static constexpr std::size_t most_idle = 8;
    RedisGate gate_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<GateSession>> idle_;
};

class RedisResults final : public ResultCache {
public:
    RedisResults(std::shared_ptr<Servers> servers, std::string prefix)
        : lines_(std::move(servers)), prefix_(std::move(prefix)) {}

    Result<std::optional<CachedResult>> get(std::string_view trace_id, Deadline deadline) override {
        auto reply = lines_.run(Scripts::all().fetch, names_of(prefix_, trace_id), {}, deadline);
        if (!reply) return std::move(reply).error();
        if (reply->kind != Reply::Kind::text) return std::optional<CachedResult>();
        return decode(reply->text, trace_id);
    }
    Result<void> put(const CachedResult& result, std::int64_t ttl_millis, Deadline deadline) override {
        if (ttl_millis <= 0 || !is_terminal(result.status)) return {};
        return done(lines_.run(Scripts::all().put, names_of(prefix_, result.trace_id),
                               {std::to_string(ttl_millis), encode(result)}, deadline));
    }
    Result<void> evict(std::string_view trace_id, Deadline deadline) override {
        return done(lines_.run(Scripts::all().put, names_of(prefix_, trace_id), {}, deadline));
    }

private:
    static Result<void> done(Result<Reply> reply) {
        return reply ? Result<void>() : Result<void>(std::move(reply).error());
    }

    Lines lines_;
    const std::string prefix_;
};

}  // namespace

Result<std::shared_ptr<Gate>> gate(Options options) {
    auto servers = Servers::make(options);
    if (!servers) return std::move(servers).error();
    Usage usage{std::move(options.key_prefix), options.results, options.wake, options.v1_compat};
    return std::shared_ptr<Gate>(std::make_shared<RedisGate>(*std::move(servers), std::move(usage)));
}

Result<std::shared_ptr<Lock>> lock(Options options) {
    if (options.v1_compat)
        return Error(ErrorKind::misconfigured, "a lock alone doesn't know keys as version 1 names them", "`v1_compat`",
                     "use redis::gate, which is lock and results in one")
            .with_code("redis-setting");
    auto servers = Servers::make(options);
    if (!servers) return std::move(servers).error();
    return std::shared_ptr<Lock>(std::make_shared<RedisLock>(*std::move(servers), std::move(options.key_prefix)));
}

Result<std::shared_ptr<ResultCache>> result_cache(Options options) {
    auto servers = Servers::make(options);
    if (!servers) return std::move(servers).error();
    return std::shared_ptr<ResultCache>(
        std::make_shared<RedisResults>(*std::move(servers), std::move(options.key_prefix)));
}

}  // namespace nebis::redis
