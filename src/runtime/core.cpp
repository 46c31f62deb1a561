// SPDX-License-Identifier: Apache-2.0
#include "runtime/core.hpp"

#include "config/load.hpp"
#include "runtime/extensions.hpp"
#include "runtime/own_thread.hpp"
#include "runtime/owner.hpp"
#include "runtime/sealed_gate.hpp"
#include "runtime/sealed_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace nebis::runtime {
namespace {

using std::chrono::milliseconds;

std::string own_instance_name() {
    char host[64] = "host";
    (void)gethostname(host, sizeof(host) - 1);
    static constexpr char digits[] = "0123456789abcdef";
    std::string name = std::string(host) + "-" + std::to_string(getpid()) + "-";
    const Owner chance = fresh_owner();
    for (std::size_t i = 0; i < 4; ++i) {
        name.push_back(digits[chance.bytes[i] >> 4]);
        name.push_back(digits[chance.bytes[i] & 15]);
    }
    return name;
}

template <class Map>
std::string names_of(const Map& map) {
    std::string text;
    for (const auto& [name, _] : map) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

}  // namespace

// ---- open

Result<std::shared_ptr<Core>> Core::make(Engine::Parts parts) {
    config::LoadOptions load;
    if (parts.options.use_environment) load.environment = config::process_environment();
    load.sets = parts.options.sets;
    // Parts given by hand stand for the default store and lock, whatever the defaults name.
    load.drivers = parts.store ? nullptr : &parts.drivers;
    auto settings = config::load_text(parts.configuration, "configuration", load);
    if (!settings) return std::move(settings).error();
    return make(std::move(parts), *std::move(settings));
}

Result<std::shared_ptr<Core>> Core::make(Engine::Parts parts, config::Settings settings) {
    std::shared_ptr<Core> core(new Core);
    core->parts_ = std::move(parts);

    auto ring = seal::KeyRing::make(config::seal_keys(settings.seal), settings.seal.current);
    if (!ring) return std::move(ring).error();
    auto sealing = std::make_shared<const Sealing>(*std::move(ring), settings.seal.required);
    const std::string instance = settings.instance.empty() ? own_instance_name() : settings.instance;
    auto watch = std::make_shared<Watch>();
    observe::LogOptions log;
    log.instance = instance;
    log.sink = core->parts_.log;
    log.dropped = &watch->metrics.instance().log_dropped;
    watch->log = observe::make_log(std::move(log));
    watch->messages = observe::Messages(settings.messages.language, settings.messages.overrides);

    auto works = std::make_shared<Works>();
    works->services = std::make_shared<Services>(std::move(settings), watch, instance, std::move(sealing));
    if (!works->services->seen_keys.ready())
        return Error(ErrorKind::misconfigured, "there is no memory for the filter of keys", {},
                     "make limits.flood-filter-keys smaller");
    std::weak_ptr<Works> weak = works;
    works->caretaker = std::make_unique<Caretaker>(
        works->services,
        [weak](std::string_view name) -> std::shared_ptr<OperationState> {
            const auto alive = weak.lock();
            return alive ? alive->find(name) : nullptr;
        },
        [weak](const StoreLine& store) {
            const auto alive = weak.lock();
            return alive ? alive->longest_lease(store) : milliseconds(0);
        });
    core->works_ = std::move(works);

    const config::Settings& with = core->services()->settings;
    if (!with.token.keys.empty()) {
        auto tokens = TokenService::make(config::token_keys(with.token), {.lifetime = with.token.lifetime});
        if (!tokens) return std::move(tokens).error();
        core->tokens_ = *std::move(tokens);
    }
    if (auto gate = core->open_gate(); !gate) return std::move(gate).error();
    // What is missing stops the start, with the step that brings it: not the first request.
    auto first = core->place(with.defaults.data_source, with.defaults.table);
    if (!first) return std::move(first).error();

    if (core->background()) {
        core->services()->renewer.run_in_background();
        core->caretaker().run_in_background();
    }
    for (const std::string& warning : with.warnings)
        watch->log->write({.level = observe::Level::warn, .message = "configuration", .detail = warning});
    return core;
}

Result<void> Core::open_gate() {
    const config::Settings& with = services()->settings;
    std::shared_ptr<Gate> gate = parts_.gate;
    if (!gate && !parts_.store) {
        const auto factory = parts_.drivers.gates.find(with.lock.driver);
        if (with.lock.driver == "none") return {};
        if (factory == parts_.drivers.gates.end())
            return Error(ErrorKind::misconfigured, "there is no lock driver '" + with.lock.driver + "'",
                         "registered are: " + names_of(parts_.drivers.gates), "lock.driver");
        DriverSettings settings;
        settings.data_source = "lock";
        settings.values = with.lock.values;
        if (!with.key_prefix.empty()) settings.values["key-prefix"] = with.key_prefix;
        auto made = factory->second(settings);
        if (!made) return std::move(made).error();
        gate = *std::move(made);
    }
    if (!gate) return {};
    GateLine::Options options;
    options.max_sessions = with.lock.max_sessions;
    options.batch_max = with.limits.batch_max;
    options.queue_max = with.limits.queue_max;
    options.breaker_failures = with.breaker.failures;
    options.breaker_open = with.breaker.open;
    options.session_wait = with.lock.session_wait;
    works_->gate = GateLine::make(sealed(std::move(gate), services()->sealing), std::move(options), services()->timers,
                                  LineWatch(services()->watch, "lock"));
    return {};
}

Result<Core::Place> Core::place(const std::string& data_source, const std::string& table) {
    const config::Settings& with = services()->settings;
    const bool by_hand = parts_.store && data_source == "primary";
    const std::pair<std::string, std::string> name(data_source, by_hand ? std::string() : table);
    if (const auto known = works_->places.find(name); known != works_->places.end()) return known->second;

    config::DataSource source;
    if (const auto written = with.data_sources.find(data_source); written != with.data_sources.end())
        source = written->second;
    else if (!by_hand)
        return Error(ErrorKind::misconfigured, "there is no data source '" + data_source + "'",
                     "written are: " + names_of(with.data_sources), "datasources." + data_source + ".driver");
    const Deadline deadline = std::chrono::steady_clock::now() + with.limits.start_timeout;
    std::shared_ptr<Store> store = by_hand ? parts_.store : nullptr;
    if (!store) {
        const auto factory = parts_.drivers.stores.find(source.driver);
        if (factory == parts_.drivers.stores.end())
            return Error(ErrorKind::misconfigured, "there is no store driver '" + source.driver + "'",
                         "registered are: " + names_of(parts_.drivers.stores),
                         "datasources." + data_source + ".driver");
        auto values = source.values;
        if (!with.key_prefix.empty()) values.try_emplace("key-prefix", with.key_prefix);
        auto made = factory->second({data_source, table, std::move(values)});
        if (!made) return std::move(made).error();
        store = *std::move(made);
        if (source.create_schema)
            if (auto created = store->create_schema(deadline); !created) return std::move(created).error();
    }
    if (auto verified = store->verify(deadline); !verified) return std::move(verified).error();

    Place place;
    for (std::string& caution : store->cautions())
        place.cautions.push_back("data source '" + data_source + "': " + std::move(caution));
    for (const std::string& caution : place.cautions)
        services()->watch->log->write({.level = observe::Level::warn, .message = "configuration", .detail = caution});

    StoreLine::Options options;
    options.data_source = data_source;
    options.max_sessions = source.max_sessions;
    options.batch_max = with.limits.batch_max;
    options.queue_max = with.limits.queue_max;
    options.breaker_failures = with.breaker.failures;
    options.breaker_open = with.breaker.open;
    options.session_wait = source.session_wait;
    place.store = StoreLine::make(sealed(std::move(store), services()->sealing), std::move(options), services()->timers,
                                  LineWatch(services()->watch, data_source));
    place.changes = std::make_shared<ChangeWatch>(place.store, works_->gate ? works_->gate->gate() : nullptr);
    {
        const std::lock_guard lock(works_->mutex);  // `warnings` may be reading
        works_->places.emplace(name, place);
    }
    works_->caretaker->add(place.store);
    return place;
}

// ---- operations

Result<identify::Identifier> Core::identifier(const config::OperationSettings& settings) const {
    identify::IdentifyRules rules;
    rules.operation = settings.operation;
    rules.key = settings.key;
    rules.key_required = settings.key_required;
    rules.strict_key_header = settings.strict_key_header;
    rules.noise = settings.noise;
    rules.default_noise = settings.default_noise;
    rules.scope = settings.scope;
    rules.caller_required = settings.caller_required;
    rules.limits.max_bytes = settings.max_request_bytes;
    rules.tokens = tokens_;
    rules.retention = settings.retention;
    if (settings.key_generator) rules.key = generator("in code");
    auto named = find_generator(services()->settings, settings, parts_.drivers);
    if (!named) return std::move(named).error();
    rules.generator = *std::move(named);
    return identify::Identifier::make(std::move(rules));
}

/// S64: an instance whose key rule differs from what the fleet agreed on would run requests a second time.
Result<void> Core::guard_key_rule(const config::OperationSettings& settings, const identify::Identifier& identifier,
                                  StoreLine& store) const {
    if (!services()->settings.key_rule_guard || settings.enforcement != Enforcement::enforce) return {};
    struct Kept {
        std::string operation;
        std::string digest;
        bool accept = false;
        Result<std::string> stands = std::string();
    };
    auto kept = std::make_shared<Kept>(Kept{settings.operation, identifier.rule_digest()});
    kept->accept = !settings.accept_key_rule.empty() && kept->digest.starts_with(settings.accept_key_rule);
    const Deadline deadline = std::chrono::steady_clock::now() + services()->settings.limits.start_timeout;
    auto lost = store.with_session(deadline, [kept](StoreSession& session, Deadline until) {
        kept->stands = session.key_rule(kept->operation, kept->digest, kept->accept, until);
        return kept->stands.has_value() || kept->stands.error().kind() != ErrorKind::unavailable;
    });
    if (lost) return *std::move(lost);
    if (!kept->stands) return kept->stands.error();
    if (*kept->stands == kept->digest) return {};
    services()->watch->log->write({.level = observe::Level::error,
                                   .message = "the key rule differs from the fleet's; this operation is not served",
                                   .operation = settings.operation,
                                   .store = store.data_source()});
    return Error(ErrorKind::misconfigured,
                 "the key rule of operation '" + settings.operation + "' differs from what the fleet agreed on",
                 "here " + kept->digest.substr(0, 16) + ", there " + kept->stands->substr(0, 16),
                 "if the change is meant, set operations." + settings.operation +
                     ".accept-key-rule: " + kept->digest.substr(0, 16))
        .with_code("key-rule-changed");
}

Result<std::shared_ptr<OperationState>> Core::build(const Policy& policy) {
    auto settings = config::resolve(services()->settings, policy);
    if (!settings) return std::move(settings).error();
    if (auto found = find_extensions(services()->settings, *settings, parts_.drivers); !found)
        return std::move(found).error();
    if (settings->fail_open && works_->gate && works_->gate->gate()->traits().keeps_others_out)
        return Error(ErrorKind::misconfigured,
                     "operation '" + settings->operation +
                         "' would run without a word from a lock service that keeps "
                         "others out",
                     "lock driver '" + std::string(works_->gate->gate()->name()) + "'", "set fail-open: false")
            .with_code("fail-open-beside-others");
    auto who = identifier(*settings);
    if (!who) return std::move(who).error();
    auto hides = identify::NoiseFilter::make(settings->redact);
    if (!hides) return std::move(hides).error();
    auto where = place(settings->data_source, settings->table);
    if (!where) return std::move(where).error();
    if (auto same = guard_key_rule(*settings, *who, *where->store); !same) return std::move(same).error();
    auto& metrics = services()->watch->metrics.operation(settings->operation);
    auto state = std::make_shared<OperationState>(*std::move(settings), *std::move(who), *std::move(hides),
                                                  where->store, where->changes, works_->gate, metrics);
    state->policy = policy;
    for (const std::string& warning : state->warnings)
        services()->watch->log->write({.level = observe::Level::warn,
                                       .message = "key rule looks unstable",
                                       .operation = policy.operation,
                                       .detail = warning});
    return state;
}

Result<std::shared_ptr<OperationState>> Core::operation(const Policy& policy) {
    const std::lock_guard one_at_a_time(building_);
    if (auto known = works_->find(policy.operation)) {
        if (known->policy.key == policy.key && known->policy.key_generator == policy.key_generator) return known;
        return Error(ErrorKind::misconfigured,
                     "operation '" + policy.operation + "' is registered already with another key rule", {},
                     "give the second one another name, or the same rule");
    }
    auto built = build(policy);
    if (!built) return built;
    const std::lock_guard lock(works_->mutex);
    works_->operations.emplace(policy.operation, *built);
    return built;
}

std::shared_ptr<OperationState> Core::Works::find(std::string_view name) const {
    const std::lock_guard lock(mutex);
    const auto place = operations.find(name);
    return place == operations.end() ? nullptr : place->second;
}

milliseconds Core::Works::longest_lease(const StoreLine& store) const {
    milliseconds longest(0);
    const std::lock_guard lock(mutex);
    for (const auto& [_, operation] : operations)
        if (operation->store.get() == &store) longest = std::max(longest, operation->settings.lease);
    return longest.count() > 0 ? longest : services->settings.defaults.lease;
}

std::vector<std::string> Core::warnings() const {
    std::vector<std::string> all = services()->settings.warnings;
    const std::lock_guard lock(works_->mutex);
    for (const auto& [name, place] : works_->places)
        all.insert(all.end(), place.cautions.begin(), place.cautions.end());
    for (const auto& [name, operation] : works_->operations)
        for (const std::string& warning : operation->warnings) all.push_back("operation '" + name + "': " + warning);
    return all;
}

// ---- close

bool Core::drain(milliseconds timeout) {
    Services& services = *works_->services;
    services.closed.store(true, std::memory_order_release);
    std::unique_lock lock(services.drain_mutex);
    return services.drained.wait_for(lock, timeout,
                                     [&] { return services.calls.load(std::memory_order_acquire) == 0; });
}

/// Leases first, so that nothing new is asked of the stores; then the stores' workers; the timers last, because queues
/// use them.
void Core::Works::stop() {
    services->renewer.stop();
    caretaker->stop();
    for (auto& [name, place] : places) place.changes->stop();
    for (auto& [name, place] : places) place.store->stop();
    if (gate) gate->stop();
    services->timers.stop();
}

Core::~Core() {
    if (!works_) return;
    auto stop = [works = works_, timeout = works_->services->settings.limits.drain_timeout] {
        Services& services = *works->services;
        services.closed.store(true, std::memory_order_release);
        {
            std::unique_lock lock(services.drain_mutex);
            services.drained.wait_for(lock, timeout,
                                      [&] { return services.calls.load(std::memory_order_acquire) == 0; });
        }
        works->stop();
    };
    // The last handle may well die inside a callback, on a thread that is about to be waited for: then somebody else
    // does the waiting.
    if (own_thread)
        std::thread(std::move(stop)).detach();
    else
        stop();
}

}  // namespace nebis::runtime
