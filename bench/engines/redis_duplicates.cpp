// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "engines.hpp"
#include "in_flight.hpp"
#include "redis_floor.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <vector>

/// Duplicates of requests that other instances finished: Redis answers them, the store isn't asked.
namespace nebis::bench {
namespace {

constexpr std::size_t callers = 128, distinct = 4'096;

/// 128 callers that never block, each going through the requests with a stride of its own.
class Repeats {
public:
    Repeats(const RedisPostgres& ours, const std::vector<Request>& requests, std::size_t total)
        : ours_(ours), requests_(requests), total_(total) {}
    double rate() {
        const auto start = Clock::now();
        for (std::size_t i = 0; i < callers; ++i) next();
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [&] { return idle_ == callers; });
        const double rate = static_cast<double>(total_) / seconds_since(start);
        watch_.check();
        return rate;
    }

private:
    void next() {
        const std::size_t n = started_.fetch_add(1);
        if (n >= total_) {
            const std::lock_guard lock(mutex_);
            if (++idle_ == callers) ended_.notify_one();
            return;
        }
        ours_.engine.run_async(ours_.operation, requests_[n % distinct], at_once(), inline_executor(),
                               [this](const Answer& answer) {
                                   watch_.look(answer);
                                   next();
                               });
    }

    const RedisPostgres& ours_;
    const std::vector<Request>& requests_;
    const std::size_t total_;
    std::atomic<std::size_t> started_{0};
    Watch watch_{Outcome::replayed};
    std::mutex mutex_;
    std::condition_variable ended_;
    std::size_t idle_ = 0;
};

}  // namespace

void redis_duplicates(Context& context) {
    const std::size_t total = context.count(102'400) / callers * callers;
    // Without its own cache an instance is like one that has never seen the request.
    const RedisPostgres ours("duplicate_record", "    local-cache-millis: 0\n");
    std::vector<Request> requests;
    std::vector<std::string> keys;
    Keys generator(9), floor_generator(10);
    for (std::size_t i = 0; i < distinct; ++i) {
        requests.push_back(order_request(generator.next()));
        keys.push_back(floor_generator.next());
        expect(ours.engine.run(ours.operation, requests.back(), at_once()), Outcome::fresh);
    }
    RedisFloor floor(redis_server().port());
    floor.enter(keys);
    floor.leave(keys);
    const auto figures = context.interleave({
        {"floor: pipelines of 128 scripts", "req/s",
         [&] {
             const auto start = Clock::now();
             for (std::size_t n = 0; n < total; n += callers)
                 floor.find(std::span(keys).subspan(n % distinct, callers));
             return static_cast<double>(total) / seconds_since(start);
         }},
        {"finished duplicates, 128 in flight", "req/s", [&] { return Repeats(ours, requests, total).rate(); }},
    });
    context.at_least("redis-duplicates", ratio(figures[1], figures[0]), 0.80);
}

}  // namespace nebis::bench
