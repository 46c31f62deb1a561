// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

namespace nebis::conformance {
namespace {

/// What is printed at the end: one line for each case, one column for each driver of that suite.
class Table : public testing::Environment {
public:
    void add(const std::string& suite, const std::string& driver, const CaseResult& result) {
        auto& rows = suites_[suite];
        rows.drivers.insert(driver);
        rows.cells[result.name][driver] = !result.broken.empty()     ? "BROKEN"
                                          : result.not_asked.empty() ? "kept"
                                                                     : "not asked";
        if (!result.not_asked.empty()) rows.reasons.insert(driver + " was not asked: " + result.not_asked);
    }

    void TearDown() override {
        for (const auto& [suite, rows] : suites_) {
            std::printf("\n%-48s", suite.c_str());
            for (const auto& driver : rows.drivers) std::printf("  %s", driver.c_str());
            std::printf("\n");
            for (const auto& [name, cells] : rows.cells) {
                std::printf("%-48s", name.c_str());
                for (const auto& driver : rows.drivers) {
                    const auto at = cells.find(driver);
                    std::printf("  %-*s", static_cast<int>(driver.size()), at == cells.end() ? "" : at->second.c_str());
                }
                std::printf("\n");
            }
            for (const auto& reason : rows.reasons) std::printf("%s\n", reason.c_str());
        }
    }

private:
    struct Rows {
        std::set<std::string> drivers;
        std::map<std::string, std::map<std::string, std::string>> cells;
        std::set<std::string> reasons;
    };
    std::map<std::string, Rows> suites_;
};

Table& table() {
    static Table* const made = static_cast<Table*>(testing::AddGlobalTestEnvironment(new Table));  // GoogleTest owns it
    return *made;
}

class Body : public testing::Test {
public:
    Body(std::string suite, std::string driver, std::function<CaseResult()> run)
        : suite_(std::move(suite)), driver_(std::move(driver)), run_(std::move(run)) {}
    void TestBody() override {
        const CaseResult result = run_();
        table().add(suite_, driver_, result);
        for (const auto& promise : result.broken) ADD_FAILURE() << driver_ << " breaks a promise: " << promise;
        if (!result.not_asked.empty()) RecordProperty("not_asked", result.not_asked);
    }

private:
    std::string suite_, driver_;
    std::function<CaseResult()> run_;
};

void add_test(const std::string& suite, const std::string& driver, const char* name, std::function<CaseResult()> run) {
    testing::RegisterTest((suite + "_" + driver).c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                          [=]() -> testing::Test* { return new Body(suite, driver, run); });
}

}  // namespace

bool register_store(std::string driver, StoreFixture fixture) {
    table();
    const auto shared = std::make_shared<const StoreFixture>(std::move(fixture));
    for (const StoreCase& one : all_store_cases())
        add_test("Store", driver, one.name, [shared, one] { return run_store_case(*shared, one); });
    return true;
}

bool register_gate(std::string driver, GateFixture fixture) {
    table();
    const auto shared = std::make_shared<const GateFixture>(std::move(fixture));
    for (const GateCase& one : all_gate_cases())
        add_test("Gate", driver, one.name, [shared, one] { return run_gate_case(*shared, one); });
    return true;
}

}  // namespace nebis::conformance
