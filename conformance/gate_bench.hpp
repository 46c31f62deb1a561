// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/conformance.hpp"
#include "probe.hpp"

#include <optional>
#include <string_view>

namespace nebis::conformance {

/// A gate on the test bench.
class GateBench : public Probe {
public:
    explicit GateBench(const GateFixture& fixture);

    Gate& gate() { return *gate_; }
    GateSession& session() { return *session_; }
    GateSession& other_session() { return *other_session_; }
    const GateFixture& fixture() const { return fixture_; }

    static Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }
    void pass(std::chrono::milliseconds span);
    std::int64_t short_lease() const { return fixture_.advance ? 1000 : fixture_.patience.count(); }
    void pass_lease() { pass(std::chrono::milliseconds(short_lease() + 2)); }

    EnterOutcome enter(std::string_view key, std::uint64_t owner_number, std::int64_t lease = 60'000,
                       std::uint8_t hash = 1, std::uint8_t scheme = 1);
    bool granted(std::string_view key, std::uint64_t owner_number, std::int64_t lease = 60'000) {
        return enter(key, owner_number, lease).kind == EnterOutcome::Kind::granted;
    }
    bool leave(std::string_view key, std::uint64_t owner_number, const CachedResult* result = nullptr,
               std::int64_t ttl = 60'000);
    bool renew(std::string_view key, std::uint64_t owner_number, std::int64_t lease);
    Result<void> evict(std::string_view key, std::optional<std::uint64_t> take);

private:
    const GateFixture& fixture_;
    std::shared_ptr<Gate> gate_;
    std::unique_ptr<GateSession> session_, other_session_;
};

struct GateCase {
    const char* name;
    void (*run)(GateBench&);
};

}  // namespace nebis::conformance
