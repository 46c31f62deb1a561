// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <exception>

namespace nebis::conformance {
namespace {

template <class Bench, class Fixture, class Case>
CaseResult run_one(const Fixture& fixture, const Case& one) {
    CaseResult result;
    result.name = one.name;
    try {
        // The bench's own constructor already asks the driver something; what it breaks is this case's, too.
        auto bench = std::make_unique<Bench>(fixture);
        try {
            one.run(*bench);
        } catch (const Stop&) {}
        result.broken = std::move(bench->broken());
        result.not_asked = bench->why_not_asked();
    } catch (const Stop&) {
        result.broken.emplace_back("no store or gate could be had from the fixture");
    } catch (const std::exception& thrown) {
        result.broken.emplace_back(std::string("the driver threw: ") + thrown.what());
    } catch (...) {
        result.broken.emplace_back("the driver threw");
    }
    return result;
}

}  // namespace

std::vector<StoreCase> all_store_cases() {
    std::vector<StoreCase> all;
    for (const auto& list : {begin_cases(), finish_cases(), upkeep_cases(), batch_cases(), race_cases()})
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

CaseResult run_store_case(const StoreFixture& fixture, const StoreCase& one) {
    return run_one<StoreBench>(fixture, one);
}
CaseResult run_gate_case(const GateFixture& fixture, const GateCase& one) { return run_one<GateBench>(fixture, one); }

std::vector<CaseResult> run_store(const StoreFixture& fixture) {
    std::vector<CaseResult> results;
    for (const StoreCase& one : all_store_cases()) results.push_back(run_store_case(fixture, one));
    return results;
}

std::vector<CaseResult> run_gate(const GateFixture& fixture) {
    std::vector<CaseResult> results;
    for (const GateCase& one : all_gate_cases()) results.push_back(run_gate_case(fixture, one));
    return results;
}

std::vector<std::string> store_cases() {
    std::vector<std::string> names;
    for (const StoreCase& one : all_store_cases()) names.emplace_back(one.name);
    return names;
}

std::vector<std::string> gate_cases() {
    std::vector<std::string> names;
    for (const GateCase& one : all_gate_cases()) names.emplace_back(one.name);
    return names;
}

}  // namespace nebis::conformance
