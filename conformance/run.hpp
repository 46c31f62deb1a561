// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gate_bench.hpp"
#include "store_bench.hpp"

namespace nebis::conformance {

std::vector<StoreCase> all_store_cases();
std::vector<GateCase> all_gate_cases();
CaseResult run_store_case(const StoreFixture& fixture, const StoreCase& one);
CaseResult run_gate_case(const GateFixture& fixture, const GateCase& one);

}  // namespace nebis::conformance
