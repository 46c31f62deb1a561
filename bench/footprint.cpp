// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "nebis/memory.hpp"
#include "sqlite_ours.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// How much memory it takes to have 100 000 callers waiting, beyond the bytes they sent.
namespace nebis::bench {
namespace {

constexpr std::size_t waiting_per_key = 1'000;  // the bound on one key's duplicates is a few more

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Memory {
    std::size_t heap = 0;
    std::size_t resident = 0;
    static Memory now() {
        malloc_trim(0);
        const auto info = mallinfo2();
        return {info.uordblks + info.hblkhd, resident_bytes()};
    }
};

/// What the caller handed over; he would hold it somewhere anyway.
std::size_t payload(const Request& request) {
    std::size_t bytes = request.method.size() + request.path.size() + request.query.size() +
                        request.content_type.size() + request.body.size() + request.principal.size() +
                        request.tenant.size();
    for (const auto& header : request.headers) bytes += header.name.size() + header.value.size();
    return bytes;
}

/// Bytes for each of `many`, beyond the payload. The greater of what the heap and what the system says.
double each(const Memory& before, const Memory& after, std::size_t many, std::size_t payload) {
    const auto grown = [](std::size_t from, std::size_t to) { return to > from ? to - from : 0; };
    const std::size_t bytes = std::max(grown(before.heap, after.heap), grown(before.resident, after.resident));
    return static_cast<double>(bytes) / static_cast<double>(many) - static_cast<double>(payload);
}

/// Bounded, and without a clock of its own: what is counted goes on in other threads.
template <class Condition>
void wait_for(const char* what, Condition condition) {
    const auto end = Clock::now() + std::chrono::seconds(120);
    while (!condition()) {
        if (Clock::now() > end) give_up(std::string("waited too long for ") + what);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// Handlers that keep their reply slot until they are let go.
class Pending {
public:
    Handler handler() {
        return Handler::later([this](const Request&, Execution, Completion completion) {
            const std::lock_guard lock(mutex_);
            slots_.push_back(std::move(completion));
        });
    }
    void reserve(std::size_t size) { slots_.reserve(size); }
    std::size_t size() {
        const std::lock_guard lock(mutex_);
        return slots_.size();
    }
    void release() {
        std::vector<Completion> slots;
        {
            const std::lock_guard lock(mutex_);
            slots.swap(slots_);
        }
        for (const auto& slot : slots) slot.answer(order_answer());
    }

private:
    std::mutex mutex_;
    std::vector<Completion> slots_;
};

struct Counts {
    std::atomic<std::size_t> as_expected{0};
    std::atomic<std::size_t> other{0};
    std::size_t all() const { return as_expected + other; }
};

// A hundred thousand at once begin one after another: the last ones' budget must outlast the first ones' commits.
const std::string limits =
    "    limits: { waiters-max: 1000000, attempts-max: 1000000, queue-max: 1000000 }\n"
    "    lock-expire-millis: 60000\n"
    "    budget-millis: 50000\n";

double waiting_duplicates(const Context& context) {
    const std::size_t keys = context.count(100);
    const std::size_t many = keys * waiting_per_key;
    Pending pending;
    Counts counts;
    double bytes = 0;
    {
        const Engine engine = open_engine(memory::store(), limits);
        Policy policy = order_policy();
        policy.on_duplicate = OnDuplicate::wait;
        policy.wait = std::chrono::minutes(10);
        const Operation operation = engine.operation(policy).value();
        Keys random(7);
        std::vector<std::string> key;
        for (std::size_t i = 0; i < keys; ++i) {
            key.push_back(random.next());
            engine.run_async(operation, order_request(key.back()), pending.handler(), inline_executor(),
                             [](const Answer&) {});
        }
        wait_for("the first attempts", [&] { return pending.size() == keys; });

        const Memory before = Memory::now();
        for (std::size_t i = 0; i < many; ++i)
            engine.run_async(operation, order_request(key[i % keys]), pending.handler(), inline_executor(),
                             [&counts](const Answer& answer) {
                                 ++(answer.outcome == Outcome::replayed ? counts.as_expected : counts.other);
                             });
        const Memory after = Memory::now();
        if (counts.all() > 0) give_up("some duplicates didn't wait");
        bytes = each(before, after, many, payload(order_request(key[0])));
        pending.release();
        wait_for("the duplicates' answers", [&] { return counts.all() == many; });
        if (counts.other > 0) give_up("some duplicates were refused");
    }
    return bytes;
}

double attempts_in_flight(const Context& context) {
    const std::size_t many = context.count(100'000);
    Pending pending;
    pending.reserve(many);
    Counts counts;
    double bytes = 0;
    {
        // Records lie in the file, so that what grows is the attempts alone.
        const SqliteOurs ours(context, order_policy(), limits);
        Keys keys(8);
        const Memory before = Memory::now();
        for (std::size_t i = 0; i < many; ++i)
            ours.engine.run_async(ours.operation, order_request(keys.next()), pending.handler(), inline_executor(),
                                  [&counts](const Answer& answer) {
                                      ++(answer.outcome == Outcome::fresh ? counts.as_expected : counts.other);
                                  });
        wait_for("the attempts", [&] { return pending.size() + counts.all() == many; });
        const Memory after = Memory::now();
        if (counts.all() > 0) give_up("some attempts were refused");
        bytes = each(before, after, many, payload(order_request(keys.next())));
        pending.release();
        wait_for("the attempts' ends", [&] { return counts.all() == many; });
        if (counts.other > 0) give_up("some attempts failed");
    }
    return bytes;
}

}  // namespace

void footprint(Context& context) {
    const auto figures = context.interleave({
        {"a waiting duplicate, beyond its payload", "bytes", [&] { return waiting_duplicates(context); }},
        {"an attempt in flight, beyond its payload", "bytes", [&] { return attempts_in_flight(context); }},
    });
    context.at_most("bytes-per-waiting-duplicate", figures[0].median(), 4096);
    context.at_most("bytes-per-attempt", figures[1].median(), 4096);
}

}  // namespace nebis::bench
