// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// The promises of store.hpp and gate.hpp as cases that a driver either keeps or breaks. One call puts a driver through
/// them:
///
///     const bool registered = nebis::conformance::register_store("mine", {.make = [] { return my_store(); }});
///
/// in the source of a GoogleTest program (link `Nebis::conformance`). `run_store` does the same without GoogleTest.
namespace nebis::conformance {

/// What the suite must know about a store. Where a function is missing, the suite asks the question another way, or not
/// at all and says so.
struct StoreFixture {
    /// A new store with an empty table, verified. Called once for each case; a case's rows may be left behind.
    std::function<std::shared_ptr<Store>()> make;
    /// The same rows as another process sees them: a second handle that shares nothing in memory with the first.
    /// Missing: the suite uses further sessions of the first.
    std::function<std::shared_ptr<Store>(const std::shared_ptr<Store>&)> another = {};
    /// Moves the store's clock on. Missing: the suite waits in real time.
    std::function<void(std::chrono::milliseconds)> advance = {};
    /// The shortest lease that the suite may rely on in real time: several round trips of a busy machine.
    std::chrono::milliseconds patience{300};
};

struct GateFixture {
    std::function<std::shared_ptr<Gate>()> make;                  ///< a new, empty gate
    std::function<void(std::chrono::milliseconds)> advance = {};  ///< as above
    bool keeps_results = true;                                    ///< false: a lock alone; `finished` never comes
    bool takes_from_holder =
        true;  ///< `evict` with an owner takes a held lock; false: it refuses until the holder left (composed gates)
    std::chrono::milliseconds patience{300};
};

struct CaseResult {
    std::string name;
    std::vector<std::string> broken;  ///< which promises, with what was seen instead; empty: all kept
    std::string not_asked;            ///< why the case had no question for this driver; empty: it had
};

/// Every case, in order. Nothing is thrown: a case that throws is broken.
std::vector<CaseResult> run_store(const StoreFixture& fixture);
std::vector<CaseResult> run_gate(const GateFixture& fixture);

std::vector<std::string> store_cases();
std::vector<std::string> gate_cases();

/// Registers each case as a GoogleTest `Store_<driver>.<case>` / `Gate_<driver>.<case>`, and a table driver × case
/// printed at the end. Call before RUN_ALL_TESTS, for instance from the initialiser of a global. Always true.
bool register_store(std::string driver, StoreFixture fixture);
bool register_gate(std::string driver, GateFixture fixture);

}  // namespace nebis::conformance
