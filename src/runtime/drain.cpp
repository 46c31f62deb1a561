// SPDX-License-Identifier: Apache-2.0
#include "nebis/drain.hpp"

#include "nebis/extend.hpp"
#include "runtime/configured_tables.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace nebis {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds step_wait{30};
constexpr std::chrono::milliseconds pause{100};
constexpr std::chrono::seconds between_words{1};
constexpr std::size_t batch = 100;

class Drain {
public:
    Drain(StoreSession& session, LeaseCensus& census, const DrainOptions& how, Deadline deadline)
        : session_(session), census_(census), how_(how), deadline_(deadline), until_(Clock::now() + how.wait) {}

    Result<Drained> run(const std::string& table) {
        Drained drained;
        drained.table = table;
        for (auto words = Clock::now() + between_words;;) {
            auto left = census_.leases(step());
            if (!left) return std::move(left).error();
            drained.left = *left;
            if (drained.done()) return drained;
            if (left->live == 0) {
                auto settled = settle(*left);
                if (!settled) return std::move(settled).error();
                drained.settled += *settled;
                if (*settled > 0) continue;
            }
            const auto now = Clock::now();
            if (now >= std::min(until_, deadline_)) return drained;
            if (how_.waiting && now >= words) {
                how_.waiting(table, *left);
                words = now + between_words;
            }
            std::this_thread::sleep_for(pause);
        }
    }

private:
    Deadline step() const { return std::min(deadline_, Clock::now() + step_wait); }

    /// How many fewer are overdue now: recovery doesn't name the damaged rows that it moves.
    Result<std::size_t> settle(const Leases& before) {
        for (bool more = true; more && Clock::now() < deadline_;) {
            auto moved = session_.recover({.limit = batch}, step());
            if (!moved) return std::move(moved).error();
            more = !moved->empty();
        }
        auto after = census_.leases(step());
        if (!after) return std::move(after).error();
        return before.overdue - std::min(before.overdue, after->overdue);
    }

    StoreSession& session_;
    LeaseCensus& census_;
    const DrainOptions& how_;
    const Deadline deadline_, until_;
};

Result<Drained> drain_table(Store& store, const std::string& table, const DrainOptions& how, Deadline deadline) {
    if (auto there = store.verify(deadline); !there) return std::move(there).error();
    auto session = store.open(deadline);
    if (!session) return std::move(session).error();
    auto* const census = dynamic_cast<LeaseCensus*>(session->get());
    if (!census)
        return Error(ErrorKind::unsupported, "the store '" + std::string(store.name()) + "' can't count its leases", {},
                     "stop all instances, wait for the longest lease, and let one instance recover what they left");
    return Drain(**session, *census, how, deadline).run(table);
}

}  // namespace

Result<std::vector<Drained>> drain(const std::string& file, const Drivers& drivers, const OpenOptions& options,
                                   const std::string& data_source, const std::string& table, const DrainOptions& how,
                                   Deadline deadline) {
    auto stores = runtime::configured_stores(file, drivers, options, data_source, table);
    if (!stores) return std::move(stores).error();
    std::vector<Drained> all;
    for (const auto& [name, store] : *stores) {
        auto drained = drain_table(*store, name, how, deadline);
        if (!drained) return std::move(drained).error();
        all.push_back(*std::move(drained));
    }
    return all;
}

}  // namespace nebis
