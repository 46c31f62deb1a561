// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "engines.hpp"
#include "in_flight.hpp"
#include "interceptor.hpp"
#include "postgres_floor.hpp"
#include "redis_floor.hpp"

#include <array>
#include <deque>
#include <string>
#include <thread>
#include <vector>

/// Fresh requests through Redis and PostgreSQL with durable commits: what 64 of them at a time reach, and what a lone
/// one waits.
namespace nebis::bench {
namespace {

/// Both engines by one connection each, 64 requests in lock-step: enter, begin, finish, leave.
class Floor {
public:
    explicit Floor(std::uint64_t seed) : generator_(seed) {}
    double rate(std::size_t total) {
        const auto start = Clock::now();
        for (std::size_t n = 0; n < total; n += in_flight) step();
        return static_cast<double>(total) / seconds_since(start);
    }
    void step(std::size_t requests = in_flight) {
        for (std::size_t i = 0; i < requests; ++i) generator_.next(keys_[i]);
        const std::span keys(keys_.data(), requests);
        redis_.enter(keys);
        postgres_.insert(keys);
        postgres_.update(keys);
        redis_.leave(keys);
    }

private:
    RedisFloor redis_{redis_server().port()};
    PostgresFloor postgres_{postgres_options()};
    Keys generator_;
    std::array<std::string, in_flight> keys_;
};

class ByHand {
public:
    explicit ByHand(std::size_t seed) {
        Interceptor::prepare(postgres_server().port());
        for (std::size_t i = 0; i < in_flight; ++i) {
            each_.emplace_back(redis_server().port(), postgres_server().port());
            keys_.emplace_back(seed + i);
        }
    }
    double rate(std::size_t total) {
        const std::size_t share = total / in_flight;
        const auto start = Clock::now();
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < in_flight; ++i)
                threads.emplace_back([&, i] {
                    for (std::size_t n = 0; n < share; ++n) each_[i].run(keys_[i].next());
                });
        }
        return static_cast<double>(share * in_flight) / seconds_since(start);
    }

private:
    std::deque<Interceptor> each_;
    std::vector<Keys> keys_;
};

std::vector<Keys> many_keys(std::size_t seed) {
    std::vector<Keys> keys;
    for (std::size_t i = 0; i < in_flight; ++i) keys.emplace_back(seed + i);
    return keys;
}

}  // namespace

void redis_postgres_fresh(Context& context) {
    const std::size_t total = context.count(25'600) / in_flight * in_flight;
    Floor floor(2);
    ByHand by_hand(300);
    const RedisPostgres callbacks("callback_record"), threads("thread_record");
    auto callback_keys = many_keys(100), thread_keys = many_keys(200);
    std::vector<double> latencies, spread;
    const auto figures = context.interleave({
        {"floor: 1 connection each, 64 in lock-step", "req/s", [&] { return floor.rate(total); }},
        {"64 in flight from callbacks", "req/s",
         [&] {
             latencies.clear();
             const double rate = callback_rate(callbacks.engine, callbacks.operation, callback_keys, total, &latencies);
             spread.push_back(quantile(latencies, 0.99) / quantile(latencies, 0.5));
             return rate;
         }},
        {"64 in flight from 64 threads", "req/s",
         [&] { return thread_rate(threads.engine, threads.operation, thread_keys, total); }},
        {"by hand, a commit for each, 64 threads", "req/s", [&] { return by_hand.rate(total / 4); }},
    });
    context.figure({"p99 to p50 from callbacks", "x", spread});
    context.at_least("redis-postgres-callbacks", ratio(figures[1], figures[0]), 0.85);
    context.at_least("redis-postgres-threads", ratio(figures[2], figures[0]), 0.70);
    context.at_least("redis-postgres-callbacks-to-by-hand", ratio(figures[1], figures[3]), 4);
    context.at_least("redis-postgres-threads-to-by-hand", ratio(figures[2], figures[3]), 3.5);
    context.at_most("redis-postgres-p99-to-p50", median(spread), 3);
}

void redis_postgres_lone(Context& context) {
    const std::size_t total = context.count(2'000);
    Floor floor(4);
    const RedisPostgres ours("lone_record");
    Keys keys(3);
    Request request = order_request(keys.next());
    std::vector<double> samples;
    const auto p50 = [&](auto once) {
        samples.clear();
        for (std::size_t n = 0; n < total; ++n) {
            const auto start = Clock::now();
            once();
            samples.push_back(seconds_since(start) * 1e6);
        }
        return quantile(samples, 0.5);
    };
    const auto figures = context.interleave({
        {"floor: one thread, four round trips; p50", "us", [&] { return p50([&] { floor.step(1); }); }},
        {"one blocking caller; p50", "us",
         [&] {
             return p50([&] {
                 keys.next(key_of(request));
                 expect(ours.engine.run(ours.operation, request, at_once()), Outcome::fresh);
             });
         }},
    });
    context.at_most("redis-postgres-lone-p50", ratio(figures[1], figures[0]), 1.15);
}

}  // namespace nebis::bench
