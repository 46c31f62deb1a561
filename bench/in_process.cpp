// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "nebis/memory.hpp"
#include "workload.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <string>
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

}  // namespace

void memory_fresh(Context& context) {
    const std::size_t total = context.count(300'000);
    const Handler handler([](const Request&, Execution&) { return order_answer(); });
    const auto figures = context.interleave({
        {"SHA-256 of 300 bytes alone", "/s", [&] { return hashes_per_second(total); }},
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
    context.at_least("memory-fresh-per-second", figures[1].median(), 400'000);
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
