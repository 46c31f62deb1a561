// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <charconv>
#include <new>

namespace nebis::local {
namespace {

template <class T, class Step>
Result<T> guarded(Step step) {
    try {
        return step();
    } catch (const std::bad_alloc&) {
        return Error(ErrorKind::unavailable, "out of memory");
    }
}

class Session final : public GateSession {
public:
    explicit Session(std::shared_ptr<Table> table) : table_(std::move(table)) {}

    void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline) override {
        for (std::size_t i = 0; i < in.size(); ++i)
            out[i] = guarded<EnterOutcome>([&] { return table_->enter(in[i]); });
    }
    void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline) override {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = guarded<bool>([&] { return table_->leave(in[i]); });
    }
    void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline) override {
        for (std::size_t i = 0; i < in.size(); ++i)
            out[i] = table_->renew(in[i].trace_id, in[i].owner, in[i].lease_millis);
    }
    Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis, Deadline) override {
        auto done = guarded<bool>([&] { return table_->evict(trace_id, take, lease_millis), true; });
        return done ? Result<void>() : Result<void>(std::move(done).error());
    }

private:
    std::shared_ptr<Table> table_;
};

class LocalGate final : public Gate {
public:
    explicit LocalGate(Options options) : table_(std::make_shared<Table>(std::move(options))) {}
    std::string_view name() const noexcept override { return "local"; }
    GateTraits traits() const noexcept override {
        GateTraits traits;
        traits.max_sessions = 64;  // they share nothing but the shards' mutexes
        traits.in_process = true;
        return traits;
    }
    Result<std::unique_ptr<GateSession>> open(Deadline) override {
        return std::unique_ptr<GateSession>(std::make_unique<Session>(table_));
    }

private:
    std::shared_ptr<Table> table_;
};

class LocalLock final : public Lock {
public:
    explicit LocalLock(Options options) : table_(std::move(options)) {}
    std::string_view name() const noexcept override { return "local"; }
    Result<std::int64_t> acquire(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                                 Deadline) override {
        return guarded<std::int64_t>([&] { return table_.enter({name, owner, {}, lease_millis}).remaining_millis; });
    }
    Result<bool> renew(std::string_view name, const Owner& owner, std::int64_t lease_millis, Deadline) override {
        return table_.renew(name, owner, lease_millis);
    }
    Result<bool> release(std::string_view name, const Owner& owner, Deadline) override {
        return table_.leave({name, owner, nullptr, 0});
    }
    bool in_process() const noexcept override { return true; }

private:
    Table table_;
};

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    const auto number = [&](std::string_view key, std::int64_t most, auto set) -> Result<void> {
        const auto at = settings.values.find(std::string(key));
        if (at == settings.values.end()) return {};
        std::int64_t value = 0;
        const char* const end = at->second.data() + at->second.size();
        const auto [stop, error] = std::from_chars(at->second.data(), end, value);
        if (error != std::errc() || stop != end || value < 0 || value > most)
            return Error(ErrorKind::misconfigured,
                         "`" + std::string(key) + "` must be a number from 0 to " + std::to_string(most))
                .with_code("local-setting");
        set(value);
        return {};
    };
    if (auto read = number("results", 10'000'000,
                           [&](std::int64_t value) { options.results = static_cast<std::size_t>(value); });
        !read)
        return std::move(read).error();
    if (auto read = number("result-life-millis", 60'000,
                           [&](std::int64_t value) { options.result_life = std::chrono::milliseconds(value); });
        !read)
        return std::move(read).error();
    return options;
}

}  // namespace

std::shared_ptr<Gate> gate(Options options) { return std::make_shared<LocalGate>(std::move(options)); }
std::shared_ptr<Lock> lock(Options options) {
    options.results = 0;
    return std::make_shared<LocalLock>(std::move(options));
}

void add_to(Drivers& drivers) {
    drivers.gates["local"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Gate>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        return gate(std::move(*options));
    };
    DriverKey results;
    results.name = "results";
    results.kind = DriverKey::Kind::integer;
    results.fallback = "0";
    results.max = 10'000'000;
    results.about =
        "How many finished results the process keeps to replay without asking the store. Too many cost memory; 0 keeps "
        "none.";
    DriverKey life;
    life.name = "result-life-millis";
    life.kind = DriverKey::Kind::integer;
    life.fallback = "2000";
    life.max = 60'000;
    life.about =
        "How long at most. Too long: a purge by another process takes effect that much later here. Too short: more "
        "reads of the store.";
    drivers.gate_keys["local"] = {results, life};
}

}  // namespace nebis::local
