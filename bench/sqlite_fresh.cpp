// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "group_commit.hpp"
#include "identify/digest.hpp"
#include "in_flight.hpp"
#include "sqlite_ours.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Fresh requests on SQLite with durable commits: what 64 of them at a time reach, and what a lone one waits.
namespace nebis::bench {
namespace {

/// One connection, transactions of 64 rows: insert them, then update them. The lock-step is ideal: all 64 arrive
/// together.
double floor_rate(SqliteFloor& floor, Keys& keys, std::size_t total) {
    std::array<std::string, in_flight> key;
    std::array<std::int64_t, in_flight> version{};
    const auto start = Clock::now();
    for (std::size_t rows = 0; rows < total; rows += in_flight) {
        for (auto& one : key) keys.next(one);
        floor.begin_transaction();
        for (std::size_t i = 0; i < in_flight; ++i) version[i] = floor.insert(key[i]);
        floor.commit();
        floor.begin_transaction();
        for (std::size_t i = 0; i < in_flight; ++i) floor.update(key[i], version[i]);
        floor.commit();
    }
    return static_cast<double>(total) / seconds_since(start);
}

/// A caller of the hand-written group commit. It builds the same request and takes SHA-256 of the body; it reads no
/// JSON, looks for no duplicate and keeps no answer.
struct BareCaller {
    explicit BareCaller(GroupCommit& to, Keys& from) : group(to), keys(from) {}

    void begin(std::function<void()> then) {
        const Request request = order_request(keys.next());
        hash = identify::sha256(request.body);
        row.key = request.headers.front().value;
        row.version = 0;
        row.done = std::move(then);
        group.submit(row);
    }
    void finish(std::function<void()> then) {
        answer = order_answer();
        row.done = std::move(then);
        group.submit(row);
    }

    GroupCommit& group;
    Keys& keys;
    GroupCommit::Row row;
    identify::Digest hash{};
    Response answer;
};

double bare_callback_rate(SqliteFloor& floor, std::vector<Keys>& keys, std::size_t total) {
    GroupCommit group(floor);
    std::deque<BareCaller> callers;
    for (Keys& one : keys) callers.emplace_back(group, one);
    std::atomic<std::size_t> left{total};
    std::atomic<std::size_t> idle{0};
    const std::function<void(BareCaller&)> next = [&](BareCaller& caller) {
        std::size_t seen = left.load();
        while (seen && !left.compare_exchange_weak(seen, seen - 1)) {}
        if (!seen) {
            ++idle;
            idle.notify_one();
            return;
        }
        caller.begin([&] { caller.finish([&] { next(caller); }); });
    };
    const auto start = Clock::now();
    for (BareCaller& caller : callers) next(caller);
    for (std::size_t seen = 0; (seen = idle.load()) < callers.size();) idle.wait(seen);
    return static_cast<double>(total) / seconds_since(start);
}

double bare_thread_rate(SqliteFloor& floor, std::vector<Keys>& keys, std::size_t total) {
    GroupCommit group(floor);
    const std::size_t each = total / in_flight;
    const auto start = Clock::now();
    {
        std::vector<std::jthread> threads;
        for (Keys& one : keys)
            threads.emplace_back([&] {
                BareCaller caller(group, one);
                std::binary_semaphore told{0};
                for (std::size_t n = 0; n < each; ++n) {
                    caller.begin([&] { told.release(); });
                    told.acquire();
                    caller.finish([&] { told.release(); });
                    told.acquire();
                }
            });
    }
    return static_cast<double>(each * in_flight) / seconds_since(start);
}

}  // namespace

void sqlite_fresh(Context& context) {
    const std::size_t total = context.count(25'600) / in_flight * in_flight;
    const auto against_floor = [&](const char* bound, double limit, const char* what, const auto& rate,
                                   const auto& bare_rate) {
        // The files live through all rounds and grow alike; after the first round their logs need not grow any more.
        SqliteFloorFile file(context);
        SqliteFloorFile bare_file(context);
        const SqliteOurs ours(context);
        Keys floor_keys(2);
        std::vector<Keys> keys, bare_keys;
        for (std::size_t i = 0; i < in_flight; ++i) {
            keys.emplace_back(100 + i);
            bare_keys.emplace_back(200 + i);
        }
        const auto figures = context.interleave({
            {"floor: 1 connection, transactions of 64 rows", "req/s",
             [&] { return floor_rate(file.floor, floor_keys, total); }},
            {what, "req/s", [&] { return rate(ours, keys); }},
            {"the same by hand, without any guarantee", "req/s", [&] { return bare_rate(bare_file.floor, bare_keys); }},
        });
        context.at_least(bound, ratio(figures[1], figures[0]), limit);
        context.figure({"ours to the floor", "x", ratios(figures[1], figures[0])});
        context.figure({"by hand to the floor", "x", ratios(figures[2], figures[0])});
        context.figure({"ours to that by hand", "x", ratios(figures[1], figures[2])});
    };
    against_floor(
        "sqlite-fresh-callbacks", 0.85, "64 in flight from callbacks",
        [&](const SqliteOurs& ours, std::vector<Keys>& keys) {
            return callback_rate(ours.engine, ours.operation, keys, total);
        },
        [&](SqliteFloor& floor, std::vector<Keys>& keys) { return bare_callback_rate(floor, keys, total); });
    against_floor(
        "sqlite-fresh-threads", 0.65, "64 in flight from 64 threads",
        [&](const SqliteOurs& ours, std::vector<Keys>& keys) {
            return thread_rate(ours.engine, ours.operation, keys, total);
        },
        [&](SqliteFloor& floor, std::vector<Keys>& keys) { return bare_thread_rate(floor, keys, total); });
}

void sqlite_lone(Context& context) {
    const std::size_t total = context.count(5'000);
    // A blocking caller alone; its waiting is two commits. The files live through all rounds, both grow alike.
    const SqliteOurs ours(context);
    SqliteFloorFile file(context);
    Keys keys(3);
    std::string key;
    std::vector<double> samples;
    const auto p50 = [&](auto once) {
        samples.clear();
        for (std::size_t n = 0; n < total; ++n) {
            keys.next(key);
            const auto start = Clock::now();
            once();
            samples.push_back(seconds_since(start) * 1e6);
        }
        return quantile(samples, 0.5);
    };
    Request request = order_request(keys.next());
    const auto figures = context.interleave({
        {"floor: insert, commit, update, commit; p50", "us",
         [&] { return p50([&] { file.floor.update(key, file.floor.insert(key)); }); }},
        {"one blocking caller; p50", "us",
         [&] {
             return p50([&] {
                 key_of(request) = key;
                 const Answer answer = ours.engine.run(ours.operation, request, at_once());
                 expect(answer, Outcome::fresh);
             });
         }},
    });
    context.at_most("sqlite-lone-p50", ratio(figures[1], figures[0]), 1.15);
}

}  // namespace nebis::bench
