// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "nebis/memory.hpp"
#include "workload.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// What Nebis itself costs, with no disk behind it: one thread, each request hashed.
namespace nebis::bench {
namespace {

/// The one part of a request's cost that nobody can save: SHA-256 over the body.
double hashes_per_second(std::size_t total) {
    const std::string& body = order_body();
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    const auto start = Clock::now();
    for (std::size_t n = 0; n < total; ++n) {
        unsigned size = 0;
        EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
        EVP_DigestUpdate(context, body.data(), body.size());
        EVP_DigestFinal_ex(context, digest.data(), &size);
    }
    const double rate = static_cast<double>(total) / seconds_since(start);
    EVP_MD_CTX_free(context);
    return rate;
}

/// How fast this machine is at what a memory store does: insert, find and erase in a hash map of 100 000 rows, each
/// under a mutex, by texts of 32 bytes.
class Yardstick {
public:
    Yardstick() {
        for (std::size_t n = 0; n < resident; ++n) rows_.emplace(key(keys_), Row{1, 0, body_});
        for (std::string& one : ring_) one = key(keys_);
    }
    double operations_per_second(std::size_t rounds) {
        const auto start = Clock::now();
        for (std::size_t round = 0; round < rounds; ++round)
            for (const std::string& one : ring_) {
                {
                    const std::lock_guard lock(mutex_);
                    rows_.emplace(one, Row{});
                }
                {
                    const std::lock_guard lock(mutex_);
                    Row& row = rows_.find(one)->second;
                    row.status = 1;
                    row.body = body_;
                }
                const std::lock_guard lock(mutex_);
                rows_.erase(one);
            }
        return static_cast<double>(3 * rounds * ring_.size()) / seconds_since(start);
    }

private:
    struct Row {
        int status = 0;
        std::int64_t expires = 0;
        std::shared_ptr<const std::string> body;
    };
    static constexpr std::size_t resident = 100'000;
    static std::string key(Keys& keys) { return keys.next().substr(0, 32); }

    Keys keys_{8};
    const std::shared_ptr<const std::string> body_ = std::make_shared<const std::string>(200, 'b');
    std::mutex mutex_;
    std::unordered_map<std::string, Row> rows_;
    std::array<std::string, 1024> ring_;
};

}  // namespace

void memory_fresh(Context& context) {
    const std::size_t total = context.count(300'000);
    const Handler handler([](const Request&, Execution&) { return order_answer(); });
    Yardstick yardstick;
    const auto figures = context.interleave({
        {"SHA-256 of 300 bytes alone", "/s", [&] { return hashes_per_second(total); }},
        {"hash map operations under a mutex", "/s",
         [&] { return yardstick.operations_per_second(context.count(5'000)); }},
        {"fresh requests on the memory store", "req/s",
         [&] {
             const Engine engine = open_engine(memory::store());
             const Operation operation = engine.operation(order_policy()).value();
             Keys keys(4);
             Request request = order_request(keys.next());
             const auto start = Clock::now();
             for (std::size_t n = 0; n < total; ++n) {
                 keys.next(key_of(request));
                 const Answer answer = engine.run(operation, request, handler);
                 if (answer.outcome != Outcome::fresh) expect(answer, Outcome::fresh);
             }
             return static_cast<double>(total) / seconds_since(start);
         }},
    });
    // Evidence, not an excuse: on the machine for which the bound was set, such a map did 34.2 million operations a
    // second.
    constexpr double operations_then = 34.2e6;
    auto scaled = ratios(figures[2], figures[1]);
    for (double& one : scaled) one *= operations_then;
    context.figure({"  scaled to a machine with 34.2 M of these", "req/s", std::move(scaled)});
    context.at_least("memory-fresh-per-second", figures[2].median(), 400'000);
}

void duplicates(Context& context) {
    constexpr std::size_t distinct = 1'000;
    const std::size_t total = context.count(500'000);
    const Handler handler([](const Request&, Execution&) { return order_answer(); });
    const Engine engine = open_engine(memory::store());
    const Operation operation = engine.operation(order_policy()).value();
    std::vector<Request> requests;
    Keys keys(5);
    for (std::size_t i = 0; i < distinct; ++i) {
        requests.push_back(order_request(keys.next()));
        expect(engine.run(operation, requests.back(), handler), Outcome::fresh);
    }
    const auto figures = context.interleave({
        {"SHA-256 of 300 bytes alone", "/s", [&] { return hashes_per_second(total); }},
        {"duplicates of 1000 keys", "req/s",
         [&] {
             const auto start = Clock::now();
             for (std::size_t n = 0; n < total; ++n) {
                 const Answer answer = engine.run(operation, requests[n % distinct], handler);
                 if (answer.outcome != Outcome::replayed) expect(answer, Outcome::replayed);
             }
             return static_cast<double>(total) / seconds_since(start);
         }},
        // Clients repeat the same bytes, and those are known again by their digest. One that writes its body anew each
        // time pays for the canonical form.
        {"the same, each repeat spelled differently", "req/s",
         [&] {
             const auto start = Clock::now();
             for (std::size_t n = 0; n < total; ++n) {
                 Request& request = requests[n % distinct];
                 request.body.push_back(' ');
                 if (request.body.size() > order_body().size() + 8) request.body.resize(order_body().size() + 1);
                 const Answer answer = engine.run(operation, request, handler);
                 if (answer.outcome != Outcome::replayed) expect(answer, Outcome::replayed);
             }
             for (Request& request : requests) request.body = order_body();
             return static_cast<double>(total) / seconds_since(start);
         }},
    });
    context.at_least("duplicates-per-second", figures[1].median(), 700'000);
}

}  // namespace nebis::bench
