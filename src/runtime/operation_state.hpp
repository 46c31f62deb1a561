// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"
#include "identify/identify.hpp"
#include "identify/noise.hpp"
#include "nebis/policy.hpp"
#include "observe/metrics.hpp"
#include "protocol/lease_book.hpp"
#include "protocol/request_machine.hpp"
#include "runtime/change_watch.hpp"
#include "runtime/gate_line.hpp"
#include "runtime/observe_book.hpp"
#include "runtime/store_line.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nebis::runtime {

/// A registered operation: its settings resolved, its extension points found, its store and gate chosen. Never changes.
class OperationState {
public:
    OperationState(config::OperationSettings with, identify::Identifier who, identify::NoiseFilter hides,
                   std::shared_ptr<StoreLine> to, std::shared_ptr<ChangeWatch> changes,
                   std::shared_ptr<GateLine> through, observe::OperationMetrics& counted);

    const config::OperationSettings settings;
    const std::shared_ptr<const std::string> name;
    const identify::Identifier identifier;
    const identify::NoiseFilter redact;
    const std::shared_ptr<StoreLine> store;
    const std::shared_ptr<ChangeWatch> changes;
    const std::shared_ptr<GateLine> gate;  ///< null: none
    const protocol::Rules rules;
    const protocol::LeaseBook::Terms terms;
    const std::string key_header;
    const std::vector<std::string> warnings;
    observe::OperationMetrics& metrics;
    ObserveBook observed;  ///< S50
    Policy policy;         ///< as it was first registered
};

}  // namespace nebis::runtime
