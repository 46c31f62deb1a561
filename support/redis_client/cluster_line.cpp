// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "line.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace nebis::redis {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How often a call is sent on before its last answer counts. A slot that moves is met two or three times.
constexpr int most_rounds = 6;
/// Between two tries for a slot that is just being moved.
constexpr milliseconds moving_pause{4};

/// A call on its way.
struct Trip {
    std::size_t row = 0;
    std::uint16_t slot = 0;
    std::optional<Address> to{};  ///< where the Cluster sent it; empty: where the map says
    bool asking = false;
    bool with_text = false;
    std::optional<Address> down{};  ///< who couldn't be reached: there is no second try at the same one
};

class ClusterLine final : public Line {
public:
    ClusterLine(std::shared_ptr<Servers> servers, Confirm confirm) : servers_(std::move(servers)), confirm_(confirm) {}

    Result<void> prepare(Deadline deadline) override {
        auto slots = servers_->slots(deadline);
        return slots ? Result<void>() : Result<void>(std::move(slots).error());
    }

    void run(std::span<const Call> calls, std::span<Result<Reply>> out, Deadline deadline) override {
        std::vector<Trip> trips;
        for (std::size_t row = 0; row < calls.size(); ++row)
            trips.push_back({.row = row, .slot = slot_of(tag_of(calls[row].keys.front()))});
        for (int round = 1; !trips.empty(); ++round) {
            trips = go(std::move(trips), calls, out, deadline, round < most_rounds);
            if (trips.empty() || !paused_) continue;
            if (Clock::now() + moving_pause >= deadline) return;
            std::this_thread::sleep_for(moving_pause);
        }
    }

private:
    struct Group {
        Connection* connection = nullptr;
        std::vector<Trip> trips;
        Commands commands;
        std::optional<Error> lost;
    };

    /// One round: every node gets its part, then every node's replies are read. Returns what must be sent on; what
    /// isn't, has its answer. Each row of those that go on has its last error in `out`.
    std::vector<Trip> go(std::vector<Trip> trips, std::span<const Call> calls, std::span<Result<Reply>> out,
                         Deadline deadline, bool again) {
        paused_ = false;
        auto slots = servers_->slots(deadline);
        if (!slots) {
            for (const Trip& trip : trips) out[trip.row] = slots.error();
            return {};
        }
        forget_others((*slots)->nodes());
        std::map<Address, Group> groups;
        for (Trip& trip : trips) {
            const Address* const owner = trip.to ? &*trip.to : (*slots)->owner(trip.slot);
            if (!owner) {
                out[trip.row] = Error(ErrorKind::unavailable, "no node of the Redis Cluster serves this key", {},
                                      "every slot needs a node: look at CLUSTER INFO")
                                    .with_code("redis-clusterdown");
                servers_->doubt_slots();
                continue;
            }
            if (trip.down == *owner) continue;  // `out` says why
            Group& group = groups[*owner];
            if (trip.asking) group.commands.add({"ASKING"});
            append(group.commands, calls[trip.row], trip.with_text);
            group.trips.push_back(std::move(trip));
        }
        for (auto& [node, group] : groups) {
            auto connection = connection_to(node, deadline);
            if (!connection) {
                group.lost = std::move(connection).error();
                continue;
            }
            group.connection = *connection;
            append(group.commands, confirm_, deadline);
            if (auto sent = group.connection->send(group.commands, deadline); !sent)
                group.lost = std::move(sent).error();
        }
        std::vector<Trip> on;
        for (auto& [node, group] : groups) {
            read(node, group, out, deadline, again, on);
            if (!group.lost) continue;
            connections_.erase(node);
            servers_->doubt_slots();
        }
        return on;
    }

    void read(const Address& node, Group& group, std::span<Result<Reply>> out, Deadline deadline, bool again,
              std::vector<Trip>& on) {
        std::vector<std::size_t> answered;
        for (Trip& trip : group.trips) {
            std::optional<Reply> reply;
            for (int i = trip.asking ? 2 : 1; i > 0 && !group.lost; --i) {  // ASKING has a reply of its own
                auto next = group.connection->receive(deadline);
                if (next)
                    reply = *std::move(next);
                else
                    group.lost = std::move(next).error();
            }
            if (group.lost) {
                out[trip.row] = *group.lost;
                // Surely not applied; and perhaps the map is old, and somebody else has the slot by now.
                if (!again || group.lost->kind() != ErrorKind::unavailable) continue;
                trip.down = node;
                trip.to.reset();
                trip.asking = trip.with_text = false;
                on.push_back(std::move(trip));
                continue;
            }
            if (!reply->is_error()) {
                out[trip.row] = *std::move(reply);
                answered.push_back(trip.row);
                continue;
            }
            out[trip.row] = error_of(*reply, "running a script");
            if (send_on(trip, *reply, group.connection->address()) && again) on.push_back(std::move(trip));
        }
        if (confirm_.replicas <= 0) return;
        Result<Reply> answer = Error(ErrorKind::unavailable, "not asked");
        if (!group.lost) {
            answer = group.connection->receive(deadline);
            if (!answer) group.lost = answer.error();
        }
        note_confirmed(confirm_, answer, answered, out);
    }

    /// True: another try may bring the answer; the server has surely done nothing.
    bool send_on(Trip& trip, const Reply& reply, const Address& teller) {
        if (reply.error_word() == "NOSCRIPT" && !trip.with_text) {
            trip.with_text = true;
            trip.to = teller;
            return true;
        }
        if (const auto where = redirection_of(reply, teller)) {
            if (where->moved) servers_->slot_moved(where->slot, where->to);
            trip.to = where->to;
            trip.asking = !where->moved;
            trip.with_text = false;
            return true;
        }
        if (reply.error_word() == "TRYAGAIN") {
            // Some of the call's names have moved, others haven't; soon all have.
            paused_ = true;
            trip.to.reset();
            trip.asking = false;
            return true;
        }
        if (wants_another_server(reply)) servers_->doubt_slots();
        return false;
    }

    /// Nodes come and go; those that went need no connection.
    void forget_others(const std::vector<Address>& nodes) {
        constexpr std::size_t slack = 8;
        if (connections_.size() <= nodes.size() + slack) return;
        std::erase_if(connections_,
                      [&](const auto& one) { return std::ranges::find(nodes, one.first) == nodes.end(); });
    }

    Result<Connection*> connection_to(const Address& node, Deadline deadline) {
        auto& known = connections_[node];
        if (known && known->usable()) return known.get();
        known.reset();
        auto made = servers_->connect(node, deadline);
        if (!made) return std::move(made).error();
        known = *std::move(made);
        return known.get();
    }

    const std::shared_ptr<Servers> servers_;
    const Confirm confirm_;
    std::map<Address, std::unique_ptr<Connection>> connections_;
    bool paused_ = false;  ///< this round met a slot that is being moved
};

}  // namespace

std::unique_ptr<Line> make_cluster_line(std::shared_ptr<Servers> servers, Confirm confirm) {
    return std::make_unique<ClusterLine>(std::move(servers), confirm);
}

}  // namespace nebis::redis
