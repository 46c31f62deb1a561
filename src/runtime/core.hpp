// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"
#include "nebis/token.hpp"
#include "runtime/caretaker.hpp"
#include "runtime/operation_state.hpp"
#include "runtime/services.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nebis::runtime {

/// What an Engine's handles point at. Its destructor drains and stops everything; calls that are still on their way
/// keep `services`.
class Core {
public:
    static Result<std::shared_ptr<Core>> make(Engine::Parts parts);
    static Result<std::shared_ptr<Core>> make(Engine::Parts parts, config::Settings settings);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    const std::shared_ptr<Services>& services() const noexcept { return works_->services; }
    Result<std::shared_ptr<OperationState>> operation(const Policy& policy);
    std::shared_ptr<OperationState> find_operation(std::string_view name) const { return works_->find(name); }
    const std::shared_ptr<GateLine>& gate() const noexcept { return works_->gate; }
    const std::shared_ptr<const TokenService>& tokens() const noexcept { return tokens_; }
    Caretaker& caretaker() noexcept { return *works_->caretaker; }
    std::vector<std::string> warnings() const;
    bool background() const noexcept { return parts_.options.background; }

    /// Stops admitting and waits for what is running.
    bool drain(std::chrono::milliseconds timeout);

private:
    struct Place {
        std::shared_ptr<StoreLine> store;
        std::shared_ptr<ChangeWatch> changes;
        std::vector<std::string> cautions{};
    };
    /// Everything with a thread. Taken along by whoever stops it.
    struct Works {
        std::shared_ptr<Services> services;
        std::shared_ptr<GateLine> gate;
        std::map<std::pair<std::string, std::string>, Place> places;  ///< by data source and table
        std::unique_ptr<Caretaker> caretaker;
        mutable std::mutex mutex;
        std::map<std::string, std::shared_ptr<OperationState>, std::less<>> operations;

        std::shared_ptr<OperationState> find(std::string_view name) const;
        std::chrono::milliseconds longest_lease(const StoreLine& store) const;
        void stop();
    };

    Core() = default;
    Result<void> open_gate();
    Result<Place> place(const std::string& data_source, const std::string& table);
    Result<std::shared_ptr<OperationState>> build(const Policy& policy);
    Result<identify::Identifier> identifier(const config::OperationSettings& settings) const;
    Result<void> guard_key_rule(const config::OperationSettings& settings, const identify::Identifier& identifier,
                                StoreLine& store) const;

    Engine::Parts parts_;
    std::shared_ptr<const TokenService> tokens_;
    std::shared_ptr<Works> works_;
    std::mutex building_;
};

}  // namespace nebis::runtime
