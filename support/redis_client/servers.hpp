// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backoff.hpp"
#include "connection.hpp"
#include "slots.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace nebis::redis {

/// What all sessions of a gate or store share: how to open connections, and who is the master of what just now.
/// **Threads**: safe.
class Servers {
public:
    /// **Errors**: `misconfigured`.
    static Result<std::shared_ptr<Servers>> make(const Options& options);

    Topology topology() const noexcept { return topology_; }

    /// A connection to one very server.
    Result<std::unique_ptr<Connection>> connect(const Address& address, Deadline deadline);
    /// A connection to the master: the server, the one Sentinels name, or any node of a Cluster.
    Result<std::unique_ptr<Connection>> connect_master(Deadline deadline);
    /// The master of before may be none any more.
    void doubt_master();

    /// The Cluster's map; asked for anew when there is none or it was doubted.
    Result<std::shared_ptr<const SlotMap>> slots(Deadline deadline);
    void doubt_slots();
    void slot_moved(std::uint16_t slot, const Address& owner);

private:
    Servers() = default;
    Result<std::unique_ptr<Connection>> open(const Address& address, const Opening& how, Deadline deadline);
    Result<std::unique_ptr<Connection>> first_that_answers(const std::vector<Address>& addresses, Deadline deadline);
    Result<std::unique_ptr<Connection>> ask_sentinels(Deadline deadline);
    struct Named {
        Address master;
        std::uint64_t epoch = 0;  ///< of the configuration it was named by
    };
    Result<Named> named_by(const Address& sentinel, Deadline deadline);
    Result<std::unique_ptr<Connection>> connect_if_master(const Address& address, Deadline deadline);

    Topology topology_ = Topology::single;
    std::vector<Address> addresses_;
    std::string master_name_;
    Opening opening_;
    Opening sentinel_opening_;
    std::chrono::milliseconds connect_timeout_{500};
    Backoff backoff_;

    std::mutex mutex_;  ///< guards what follows
    std::optional<Address> master_;
    std::shared_ptr<const SlotMap> slots_;
    bool slots_doubted_ = false;
    Deadline slots_read_{};
};

}  // namespace nebis::redis
