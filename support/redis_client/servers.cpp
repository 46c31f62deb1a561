// SPDX-License-Identifier: Apache-2.0
#include "servers.hpp"

#include "errors.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace nebis::redis {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// While a Cluster is in trouble its map is asked for no more often than this.
constexpr milliseconds shortest_look{50};

Error bad(std::string message, std::string hint) {
    return Error(ErrorKind::misconfigured, std::move(message), {}, std::move(hint)).with_code("redis-setting");
}

Error left_alone(const Address& address) {
    return Error(ErrorKind::unavailable, "Redis couldn't be reached a moment ago", address.text(),
                 "check `address`, and that Redis runs and is reachable from here")
        .with_code("redis-unreachable");
}

bool clean_prefix(const std::string& prefix) {
    return prefix.size() <= 64 && std::ranges::all_of(prefix, [](unsigned char c) {
               return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      std::string_view("._:-/").find(static_cast<char>(c)) != std::string_view::npos;
           });
}

}  // namespace

Result<std::shared_ptr<Servers>> Servers::make(const Options& options) {
    if (options.addresses.empty()) return bad("no address of Redis is given", "set `address`");
    if (!clean_prefix(options.key_prefix))
        return bad("the key prefix can't be used in Redis",
                   "`key-prefix` takes up to 64 letters, digits, . _ : - and /: braces would move the hash tag");
    if (options.database < 0) return bad("the database of Redis is negative", "`database` begins at 0");
    if (options.database != 0 && options.topology == Topology::cluster)
        return bad("a Redis Cluster has database 0 only", "leave `database` out");
    if (options.topology == Topology::sentinel && options.master_name.empty())
        return bad("Sentinels need the name of a master", "set `master-name`");
    if (options.connect_timeout <= milliseconds::zero())
        return bad("the time to connect to Redis must be above 0", "set `connect-timeout-millis`");

    std::shared_ptr<Servers> made(new Servers);
    for (const auto& text : options.addresses) {
        auto address = parse_address(text);
        if (!address) return std::move(address).error();
        if (address->is_path() && options.topology != Topology::single)
            return bad("Sentinels and Clusters have no Unix sockets", "write host:port in `address`");
        made->addresses_.push_back(*std::move(address));
    }
    made->topology_ = options.topology;
    made->master_name_ = options.master_name;
    made->connect_timeout_ = options.connect_timeout;
    made->opening_.credentials = options.credentials;
    made->opening_.database = options.database;
    if (options.tls.enabled) {
        auto tls = TlsContext::make(options.tls);
        if (!tls) return std::move(tls).error();
        made->opening_.tls = *std::move(tls);
    }
    made->sentinel_opening_ = made->opening_;
    made->sentinel_opening_.credentials = options.sentinel_credentials;
    made->sentinel_opening_.database = 0;
    return made;
}

Result<std::unique_ptr<Connection>> Servers::open(const Address& address, const Opening& how, Deadline deadline) {
    const auto now = Clock::now();
    if (!backoff_.may_try(address, now)) return left_alone(address);
    auto made = Connection::open(address, how, std::min(deadline, now + connect_timeout_));
    if (made)
        backoff_.succeeded(address);
    else if (now < deadline)  // who came too late has learnt nothing about the server
        backoff_.failed(address, Clock::now());
    return made;
}

Result<std::unique_ptr<Connection>> Servers::connect(const Address& address, Deadline deadline) {
    return open(address, opening_, deadline);
}

Result<std::unique_ptr<Connection>> Servers::first_that_answers(const std::vector<Address>& addresses,
                                                                Deadline deadline) {
    std::optional<Error> last;
    for (const Address& address : addresses) {
        auto made = connect(address, deadline);
        if (made) return made;
        last = std::move(made).error();
    }
    return *std::move(last);
}

Result<std::unique_ptr<Connection>> Servers::connect_master(Deadline deadline) {
    if (topology_ == Topology::sentinel) {
        std::optional<Address> known;
        {
            const std::lock_guard lock(mutex_);
            known = master_;
        }
        if (known) {
            auto made = connect_if_master(*known, deadline);
            if (made) return made;
        }
        return ask_sentinels(deadline);
    }
    if (topology_ == Topology::cluster) {
        std::vector<Address> nodes;
        {
            const std::lock_guard lock(mutex_);
            if (slots_) nodes = slots_->nodes();
        }
        nodes.insert(nodes.end(), addresses_.begin(), addresses_.end());
        return first_that_answers(nodes, deadline);
    }
    return first_that_answers(addresses_, deadline);
}

void Servers::doubt_master() {
    const std::lock_guard lock(mutex_);
    master_.reset();
}

// ---- Sentinel

Result<Servers::Named> Servers::named_by(const Address& sentinel, Deadline deadline) {
    auto connection = open(sentinel, sentinel_opening_, deadline);
    if (!connection) return std::move(connection).error();
    Commands ask;
    ask.add({"SENTINEL", "get-master-addr-by-name", master_name_});
    ask.add({"SENTINEL", "MASTER", master_name_});
    const Deadline until = std::min(deadline, Clock::now() + connect_timeout_);
    if (auto sent = (*connection)->send(ask, until); !sent) return std::move(sent).error();
    auto address = (*connection)->receive(until);
    if (!address) return std::move(address).error();
    auto about = (*connection)->receive(until);
    if (!about) return std::move(about).error();
    if (address->is_error()) return error_of(*address, "asking a Sentinel");
    if (address->kind == Reply::Kind::nil)
        return Error(ErrorKind::misconfigured, "a Sentinel doesn't know this master", sentinel.text(),
                     "check `master-name`")
            .with_code("redis-master-name");
    if (address->elements.size() != 2)
        return Error(ErrorKind::corrupt, "what a Sentinel sent can't be read", sentinel.text(),
                     "check that `address` names Sentinels")
            .with_code("redis-protocol");
    auto master = make_address(address->elements[0].text, address->elements[1].text);
    if (!master) return std::move(master).error();
    Named named{*std::move(master)};
    for (std::size_t i = 0; i + 1 < about->elements.size(); i += 2) {
        if (about->elements[i].text != "config-epoch") continue;
        const std::string& digits = about->elements[i + 1].text;
        std::from_chars(digits.data(), digits.data() + digits.size(), named.epoch);
    }
    return named;
}

/// All are asked, and the one of the newest configuration is tried first, then the one that most of them name: a
/// Sentinel that was cut off still names the master of before, which may still believe to be one.
Result<std::unique_ptr<Connection>> Servers::ask_sentinels(Deadline deadline) {
    struct Votes {
        std::uint64_t epoch = 0;
        std::size_t count = 0;
    };
    std::map<Address, Votes> votes;
    std::optional<Error> last;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
        const auto now = Clock::now();
        if (now >= deadline) break;
        // Those that don't answer leave time for the rest, and for the master.
        const auto share = (deadline - now) / static_cast<int>(addresses_.size() - i + 1);
        auto named = named_by(addresses_[i], now + share);
        if (!named) {
            last = std::move(named).error();
            continue;
        }
        Votes& of = votes[named->master];
        of.epoch = std::max(of.epoch, named->epoch);
        ++of.count;
    }
    std::vector<std::pair<Address, Votes>> named(votes.begin(), votes.end());
    std::ranges::stable_sort(named, [](const auto& a, const auto& b) {
        return std::pair(a.second.epoch, a.second.count) > std::pair(b.second.epoch, b.second.count);
    });
    for (const auto& one : named) {
        auto made = connect_if_master(one.first, deadline);
        if (made) {
            const std::lock_guard lock(mutex_);
            master_ = one.first;
            return made;
        }
        last = std::move(made).error();
    }
    if (!last) return took_too_long("asking the Sentinels");
    if (last->kind() != ErrorKind::maybe_applied) return *std::move(last);
    return Error(ErrorKind::unavailable, last->message(), last->detail(), last->hint()).with_code(last->code());
}

Result<std::unique_ptr<Connection>> Servers::connect_if_master(const Address& address, Deadline deadline) {
    auto made = connect(address, deadline);
    if (!made) return made;
    Commands ask;
    ask.add({"ROLE"});
    auto role = (*made)->ask(ask, std::min(deadline, Clock::now() + connect_timeout_));
    if (!role) return Error(ErrorKind::unavailable, role.error().message(), role.error().detail(), role.error().hint());
    if (role->is_error()) return error_of(*role, "asking for its role");
    if (role->kind == Reply::Kind::array && !role->elements.empty() && role->elements[0].text == "master") return made;
    return Error(ErrorKind::unavailable, "the master that Sentinels name is none yet", address.text(),
                 "it passes when the failover is done")
        .with_code("redis-failover");
}

// ---- Cluster

Result<std::shared_ptr<const SlotMap>> Servers::slots(Deadline deadline) {
    {
        const std::lock_guard lock(mutex_);
        const bool just_read = Clock::now() < slots_read_ + shortest_look;
        if (slots_ && (!slots_doubted_ || just_read)) return slots_;
    }
    std::vector<Address> nodes;
    std::shared_ptr<const SlotMap> before;
    {
        const std::lock_guard lock(mutex_);
        before = slots_;
    }
    if (before) nodes = before->nodes();
    nodes.insert(nodes.end(), addresses_.begin(), addresses_.end());
    std::optional<Error> last;
    Commands ask;
    ask.add({"CLUSTER", "SLOTS"});
    for (const Address& node : nodes) {
        auto connection = connect(node, deadline);
        if (!connection) {
            last = std::move(connection).error();
            continue;
        }
        auto reply = (*connection)->ask(ask, std::min(deadline, Clock::now() + connect_timeout_));
        if (!reply) {
            last = std::move(reply).error();
            continue;
        }
        if (reply->is_error()) {
            last = error_of(*reply, "asking for the slots");
            if (reply->text.find("cluster support disabled") != std::string::npos)
                last = bad("this Redis is no Cluster", "leave `topology: cluster` out");
            continue;
        }
        auto map = SlotMap::from(*reply, node);
        if (!map || map->nodes().empty()) {
            last = Error(ErrorKind::unavailable, "this node of the Redis Cluster knows no slots", node.text(),
                         "every slot needs a node: look at CLUSTER INFO")
                       .with_code("redis-clusterdown");
            continue;
        }
        const std::lock_guard lock(mutex_);
        slots_ = std::make_shared<const SlotMap>(*std::move(map));
        slots_doubted_ = false;
        slots_read_ = Clock::now();
        return slots_;
    }
    if (before) return before;  // better than nothing: a node that is back says what is true now
    if (last->kind() == ErrorKind::maybe_applied)
        return Error(ErrorKind::unavailable, last->message(), last->detail(), last->hint()).with_code(last->code());
    return *std::move(last);
}

void Servers::doubt_slots() {
    const std::lock_guard lock(mutex_);
    slots_doubted_ = true;
}

void Servers::slot_moved(std::uint16_t slot, const Address& owner) {
    const std::lock_guard lock(mutex_);
    slots_doubted_ = true;  // seldom is it one alone
    if (!slots_) return;
    SlotMap next = *slots_;
    next.set(slot, owner);
    slots_ = std::make_shared<const SlotMap>(std::move(next));
}

}  // namespace nebis::redis
