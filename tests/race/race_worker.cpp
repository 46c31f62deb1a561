// SPDX-License-Identifier: Apache-2.0
#include "nebis/local.hpp"
#include "nebis/nebis.hpp"
#include "nebis/sqlite.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

/// race_worker <database> <ledger> <answers> <threads> <hot keys> <cold keys>
///
/// Each thread asks for every hot key and for its share of cold ones. A handler's effect is a line in the ledger,
/// written before it returns; every answer that has a value is a line in the answers file. Lines are single appends, so
/// they are whole. Exit 0 when every request ended with a value.
namespace {

void append(int file, const std::string& line) {
    if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
    using namespace nebis;
    if (argc != 7) return 2;
    const int ledger = open(argv[2], O_WRONLY | O_APPEND | O_CREAT, 0600);
    const int answers = open(argv[3], O_WRONLY | O_APPEND | O_CREAT, 0600);
    const int threads = std::atoi(argv[4]), hot = std::atoi(argv[5]), cold = std::atoi(argv[6]);
    if (ledger < 0 || answers < 0) return 2;

    Engine::Parts parts;
    parts.store = sqlite::store(
        sqlite::Options{.path = argv[1], .busy_timeout = std::chrono::seconds(10), .create_schema = true});
    parts.gate = local::gate();
    parts.options.use_environment = false;
    parts.configuration = "nebis: {idempotent: {lock-expire-millis: 30000, budget-millis: 20000}}";
    parts.log = [](const std::string&) {};
    auto engine = Engine::make(std::move(parts));
    if (!engine) return std::fprintf(stderr, "%s\n", engine.error().text().c_str()), 2;

    Policy policy;
    policy.operation = "race";
    policy.key = header("Idempotency-Key");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = std::chrono::milliseconds(60'000);
    auto operation = engine->operation(policy);
    if (!operation) return std::fprintf(stderr, "%s\n", operation.error().text().c_str()), 2;

    const std::string me = std::to_string(getpid());
    std::atomic<int> bad{0};
    const auto ask = [&](const std::string& key, const std::string& who) {
        Request request;
        request.method = "POST";
        request.path = "/race";
        request.headers = {{"Idempotency-Key", key}};
        for (int tries = 0; tries < 50; ++tries) {
            const Answer answer = engine->run(*operation, request, Handler([&](const Request&, Execution& execution) {
                append(ledger, key + " " + who + " " + std::to_string(execution.fencing_token()) + "\n");
                return Response{200, {}, who, false};
            }));
            if (answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed)
                return append(answers, key + " " + answer.response.body + "\n");
        }
        ++bad;
    };
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            const std::string who = me + "-" + std::to_string(t);
            for (int k = 0; k < hot; ++k) {
                ask("hot-" + std::to_string(k), who);
                for (int c = 0; c < cold / hot; ++c)
                    ask("cold-" + who + "-" + std::to_string(k) + "-" + std::to_string(c), who);
            }
        });
    }
    for (auto& thread : all) thread.join();
    if (bad > 0) std::fprintf(stderr, "%d requests never ended with a value\n", bad.load());
    return bad > 0 ? 1 : 0;
}
