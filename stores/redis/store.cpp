// SPDX-License-Identifier: Apache-2.0
#include "asking.hpp"
#include "calls.hpp"
#include "nebis/redis_store.hpp"
#include "redis_client/errors.hpp"
#include "session.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace nebis::redis {
namespace {

using records::Shared;

Error no_resources(const std::exception& thrown) {
    return {ErrorKind::unavailable, "no resources to talk to Redis", thrown.what()};
}

bool good_table_name(std::string_view table) noexcept {
    return !table.empty() && table.size() <= 55 && std::ranges::all_of(table, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

/// The value of a line of INFO.
std::string_view line_of(std::string_view info, std::string_view name) {
    const std::string wanted = "\n" + std::string(name) + ":";
    auto at = info.find(wanted);
    if (at == std::string_view::npos) return {};
    info.remove_prefix(at + wanted.size());
    return info.substr(0, info.find_first_of("\r\n"));
}

class RedisStore final : public Store {
public:
    explicit RedisStore(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    std::string_view name() const noexcept override { return "redis"; }
    StoreTraits traits() const noexcept override {
        StoreTraits traits;
        traits.one_commit_for_begin_and_finish = true;
        return traits;
    }

    Result<void> verify(Deadline deadline) override {
        try {
            const bool cluster = shared_->servers->topology() == Topology::cluster;
            std::vector<std::unique_ptr<Connection>> all;
            if (cluster) {
                auto slots = shared_->servers->slots(deadline);
                if (!slots) return std::move(slots).error();
                for (const Address& node : (*slots)->nodes()) {
                    auto connection = shared_->servers->connect(node, deadline);
                    if (!connection) return std::move(connection).error();
                    all.push_back(*std::move(connection));
                }
            } else {
                auto connection = shared_->servers->connect_master(deadline);
                if (!connection) return std::move(connection).error();
                all.push_back(*std::move(connection));
            }
            for (const auto& connection : all)
                if (auto kept = examine(*connection, deadline); !kept) return kept;
            // Each node of a Cluster has users of its own, and some of the buckets.
            return try_rights(cluster ? records::bucket_count : 1, deadline);
        } catch (const std::exception& thrown) {
            return no_resources(thrown);
        }
    }

    std::vector<std::string> cautions() const override {
        const std::lock_guard lock(mutex_);
        return cautions_;
    }

    /// Names come into being by being written.
    Result<void> create_schema(Deadline) override { return {}; }

    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override {
        try {
            auto line = make_line(shared_->servers, shared_->confirm);
            if (auto ready = line->prepare(deadline); !ready) return std::move(ready).error();
            return records::make_session(std::move(line), shared_);
        } catch (const std::exception& thrown) {
            return no_resources(thrown);
        }
    }

private:
    Result<void> try_rights(std::size_t buckets, Deadline deadline) {
        std::vector<Call> calls;
        for (std::size_t bucket = 0; bucket < buckets; ++bucket)
            calls.push_back(records::probe_call(shared_->names, bucket));
        records::Asking asking(make_line(shared_->servers));
        for (auto& reply : asking.run(calls, deadline)) {
            if (!reply) return of_a_read(std::move(reply).error());
            if (reply->kind != Reply::Kind::array || reply->elements.size() != 2) continue;
            reply->elements[1].kind = Reply::Kind::error;
            const Error why = error_of(reply->elements[1], "trying " + reply->elements[0].text);
            // A full memory, a failover: that passes, and whoever is served meanwhile is told.
            if (why.kind() == ErrorKind::maybe_applied) return lacks_right(why.detail());
        }
        return {};
    }

    static Error lacks_right(std::string detail) {
        return Error(ErrorKind::misconfigured, "this user of Redis lacks a right", std::move(detail),
                     "see the README of this driver for the ACL it needs")
            .with_code("redis-rights");
    }

    Result<void> examine(Connection& connection, Deadline deadline) {
        Commands ask;
        ask.add({"INFO"});
        ask.add({"CONFIG", "GET", "appendfsync"});
        if (shared_->confirm.replicas > 0) ask.add({"WAIT", "0", "1"});
        auto sent = connection.send(ask, deadline);
        if (!sent) return of_a_read(std::move(sent).error());
        auto info = connection.receive(deadline);
        if (!info) return of_a_read(std::move(info).error());
        auto fsync = connection.receive(deadline);
        if (!fsync) return of_a_read(std::move(fsync).error());
        if (shared_->confirm.replicas > 0) {
            auto waited = connection.receive(deadline);
            if (!waited) return of_a_read(std::move(waited).error());
            if (waited->is_error()) return lacks_right("trying WAIT: " + waited->text.substr(0, 100));
        }
        if (info->is_error()) return error_of(*info, "asking how it keeps data");
        if (line_of(info->text, "role") == "slave")
            return Error(ErrorKind::unavailable, "this Redis is a replica", connection.address().text(),
                         "`address` must name the master; with Sentinels, set `topology: sentinel`")
                .with_code("redis-readonly");
        // An evicted row is a lost record: its request would run twice.
        const auto policy = line_of(info->text, "maxmemory_policy");
        if (line_of(info->text, "maxmemory") != "0" && policy != "noeviction")
            return Error(ErrorKind::misconfigured, "this Redis evicts records when its memory is full",
                         "maxmemory-policy is " + std::string(policy.substr(0, 40)),
                         "set `maxmemory-policy noeviction` in it, or give records a Redis of their own")
                .with_code("redis-evicts");
        if (policy != "noeviction")
            caution(
                "Redis has no limit of memory now, but would evict records under the first that it gets; set "
                "`maxmemory-policy noeviction`");
        if (line_of(info->text, "aof_enabled") == "0") {
            caution(
                "Redis keeps no append-only file: a restart forgets records, and what it forgets runs again; set "
                "`appendonly yes`");
        } else if (fsync->elements.size() != 2) {
            caution(
                "whether Redis syncs each write couldn't be asked (CONFIG GET); a crash may forget records unless "
                "`appendfsync` is `always`");
        } else if (fsync->elements[1].text != "always") {
            caution(
                "Redis syncs its append-only file later than it answers: a crash may forget the last "
                "records; set `appendfsync always`");
        }
        if (shared_->confirm.replicas > 0 &&
            std::atoi(std::string(line_of(info->text, "connected_slaves")).c_str()) < shared_->confirm.replicas)
            caution("Redis has fewer replicas than `wait-replicas` asks for: nothing can be recorded until it has");
        if (shared_->confirm.replicas == 0 && line_of(info->text, "connected_slaves") != "0")
            caution(
                "records are told as done before a replica has them: a failover may forget the last ones; set "
                "`wait-replicas`");
        return {};
    }

    void caution(std::string words) {
        const std::lock_guard lock(mutex_);
        if (std::ranges::find(cautions_, words) == cautions_.end()) cautions_.push_back(std::move(words));
    }

    const std::shared_ptr<Shared> shared_;
    mutable std::mutex mutex_;
    std::vector<std::string> cautions_;
};

}  // namespace

Result<std::shared_ptr<Store>> store(StoreOptions options) {
    if (!good_table_name(options.table))
        return Error(ErrorKind::misconfigured, "not a table name", {}, "`table` takes 1 to 55 of a-z, 0-9 and _")
            .with_code("redis-setting");
    if (options.wait_replicas < 0 || options.wait_timeout <= std::chrono::milliseconds::zero())
        return Error(ErrorKind::misconfigured, "what to wait for can't be negative", {},
                     "set `wait-replicas` to 0 or more, `wait-timeout-millis` above 0")
            .with_code("redis-setting");
    auto servers = Servers::make(options.servers);
    if (!servers) return std::move(servers).error();
    records::Names names(std::move(options.servers.key_prefix), std::move(options.table));
    std::shared_ptr<Shared> shared(
        new Shared{*std::move(servers), std::move(names), {options.wait_replicas, options.wait_timeout}, {}});
    return std::shared_ptr<Store>(std::make_shared<RedisStore>(std::move(shared)));
}

}  // namespace nebis::redis
