// SPDX-License-Identifier: Apache-2.0
#include "shop.hpp"

#include <map>
#include <random>

namespace nebis::http {
namespace {

using namespace std::chrono_literals;

class HttpRace : public ShopTest {};

/// 64 clients, hot and cold keys, some that hang up in the middle: one run for each key, one answer for each key.
TEST_F(HttpRace, sixty_four_clients_with_mixed_keys) {
    constexpr int clients = 64;
    constexpr int requests = 40;
    auto policy = by_header("createOrder");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = 20s;
    std::mutex mutex;
    std::map<std::string, int> runs_of;
    open({.threads = 2, .handler_threads = 8}).post("/orders", policy, [&](const Request& request) {
        std::lock_guard lock(mutex);
        const int run = ++runs_of[request.body];
        return Reply{201, request.body + " run " + std::to_string(run)};
    });
    serve();
    std::map<std::string, std::string> answer_of;
    std::atomic<int> fresh = 0;
    std::atomic<int> lost = 0;
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; ++c)
        threads.emplace_back([&, c] {
            std::minstd_rand chance(static_cast<unsigned>(c + 1));
            auto one = client();
            for (int r = 0; r < requests; ++r) {
                const int which = static_cast<int>(chance() % 3);
                const auto key = which == 0   ? "hot"
                                 : which == 1 ? "warm-" + std::to_string(chance() % 20)
                                              : "cold-" + std::to_string(c) + '-' + std::to_string(r);
                if (chance() % 16 == 0) {
                    one.send("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + key +
                             "\r\nContent-Length: " + std::to_string(key.size()) + "\r\n\r\n" + key);
                    one.reset();
                    continue;
                }
                const auto reply = one.request("POST", "/orders", {{"Idempotency-Key", key}}, key, 60s);
                if (!reply) {
                    ++lost;
                    continue;
                }
                EXPECT_EQ(reply->status, 201) << reply->body;
                if (!replayed(*reply)) ++fresh;
                std::lock_guard lock(mutex);
                EXPECT_EQ(answer_of.emplace(key, reply->body).first->second, reply->body);
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(lost, 0);
    web->stop();
    for (const auto& [key, count] : runs_of) EXPECT_EQ(count, 1) << key;
    EXPECT_LE(static_cast<std::size_t>(fresh), runs_of.size());
}

/// Servers come and go while clients talk to them.
TEST_F(HttpRace, stopping_under_load) {
    for (int round = 0; round < 5; ++round) {
        serve_orders();
        std::atomic<bool> go_on = true;
        std::vector<std::thread> threads;
        const auto port = web->port();
        for (int c = 0; c < 8; ++c)
            threads.emplace_back([&, c] {
                test::HttpClient one("127.0.0.1", port);
                for (int r = 0;
                     go_on &&
                     one.post("/orders", "x", {{"Idempotency-Key", std::to_string(c) + '-' + std::to_string(r % 7)}});
                     ++r) {}
            });
        std::this_thread::sleep_for(30ms);
        web->stop();
        go_on = false;
        for (auto& thread : threads) thread.join();
    }
}

}  // namespace
}  // namespace nebis::http
