// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <time.h>

#include <cstdio>
#include <future>
#include <iostream>

/// waiting_worker <database>
///
/// The process in which duplicates wait. For each key on its standard input it asks once, and says "waits" as soon as
/// the duplicate waits for the attempt of another process, then "<outcome> <nanoseconds of the machine's monotonic
/// clock> <body>" when it is answered.
namespace {

long long monotonic_nanos() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void say(const std::string& line) {
    std::cout << line << std::endl;  // whole and at once: somebody waits for it
}

}  // namespace

int main(int argc, char** argv) {
    using namespace nebis;
    using namespace std::chrono_literals;
    if (argc != 2) return 2;
    const Engine engine = testkit::engine_on(testkit::sqlite_store(argv[1]));
    Policy policy;
    policy.operation = "race";
    policy.key = header("Idempotency-Key");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = 20s;
    const Operation operation = engine.operation(policy).value();
    const Handler never([](const Request&, Execution&) -> Response { return {500, {}, "ran", false}; });
    for (std::string key; std::getline(std::cin, key);) {
        auto asked = std::async(std::launch::async, [&] {
            Answer answer = engine.run(operation, testkit::request_with(key), never);
            return std::pair(std::move(answer), monotonic_nanos());
        });
        while (asked.wait_for(1ms) == std::future_status::timeout &&
               engine.metrics().find("nebis_waiting_duplicates{operation=\"race\"} 1") == std::string::npos) {}
        say("waits");
        const auto [answer, at] = asked.get();
        say(std::string(to_string(answer.outcome)) + " " + std::to_string(at) + " " + answer.response.body);
    }
    return 0;
}
