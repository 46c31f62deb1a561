// SPDX-License-Identifier: Apache-2.0
#include "nebis/sqlite.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

// One of several processes on one file, started by sqlite_processes_test.
//
//   sqlite_helper race FILE THREADS KEYS  every thread begins every key and finishes what it won; prints "won KEY
//                                         VERSION" lines
//   sqlite_helper batches FILE PREFIX     begins batches of 64 keys for ever; prints "batch N" after each acquired one
//   sqlite_helper rob FILE KEY            recovers once and begins KEY, ready to take it over; prints "recovered N" and
//                                         "acquired" or "refused"
namespace {

using namespace nebis;

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

Owner random_owner() {
    static thread_local std::random_device device;
    Owner owner;
    for (auto& byte : owner.bytes) byte = static_cast<unsigned char>(device());
    return owner;
}

BeginRequest request(std::string_view key, const Owner& owner) {
    BeginRequest begin;
    begin.trace_id = key;
    begin.operation = "race";
    begin.owner = owner;
    begin.request_hash.scheme = 1;
    begin.lease_millis = 600'000;
    begin.retention_millis = 600'000;
    return begin;
}

std::shared_ptr<Store> store_of(const char* path) {
    sqlite::Options options;
    options.path = path;
    options.busy_timeout = std::chrono::seconds(60);
    return sqlite::store(std::move(options));
}

[[noreturn]] void give_up(const char* what, const Error& error) {
    std::fprintf(stderr, "%s: %s\n", what, error.text().c_str());
    std::_Exit(2);
}

int race(const char* path, int threads, int keys) {
    const auto store = store_of(path);
    std::vector<std::thread> all;
    std::vector<std::string> won(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            auto session = store->open(soon());
            if (!session) give_up("open", session.error());
            for (int k = 0; k < keys; ++k) {
                const std::string key = "k" + std::to_string(k);
                const BeginRequest begin = request(key, random_owner());
                Result<BeginOutcome> begun = BeginOutcome{};
                (*session)->begin({&begin, 1}, {&begun, 1}, soon());
                if (!begun) give_up("begin", begun.error());
                if (begun->kind != BeginOutcome::Kind::acquired) continue;
                won[static_cast<std::size_t>(t)] += "won " + key + " " + std::to_string(begun->version) + "\n";
                Response response;
                response.body = key;
                FinishRequest finish;
                finish.trace_id = key;
                finish.version = begun->version;
                finish.owner = begin.owner;
                finish.response = &response;
                finish.retention_millis = 600'000;
                Result<FinishOutcome> finished = FinishOutcome{};
                (*session)->finish({&finish, 1}, {&finished, 1}, soon());
                if (!finished) give_up("finish", finished.error());
                if (!finished->applied) give_up("finish", Error(ErrorKind::internal, "a won attempt was fenced off"));
            }
        });
    for (auto& one : all) one.join();
    for (const auto& lines : won) std::fputs(lines.c_str(), stdout);
    return 0;
}

int batches(const char* path, const char* prefix) {
    const auto store = store_of(path);
    auto session = store->open(soon());
    if (!session) give_up("open", session.error());
    for (int number = 0;; ++number) {
        std::vector<std::string> keys;
        for (int i = 0; i < 64; ++i)
            keys.push_back(std::string(prefix) + std::to_string(number) + "-" + std::to_string(100 + i));
        const Owner owner = random_owner();
        std::vector<BeginRequest> begins;
        for (const auto& key : keys) begins.push_back(request(key, owner));
        std::vector<Result<BeginOutcome>> begun(keys.size(), BeginOutcome{});
        (*session)->begin(begins, begun, soon());
        for (const auto& one : begun)
            if (!one || one->kind != BeginOutcome::Kind::acquired) return 3;
        char line[64];
        const int size = std::snprintf(line, sizeof line, "batch %d\n", number);
        if (write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) return 4;
    }
}

int rob(const char* path, const char* key) {
    const auto store = store_of(path);
    auto session = store->open(soon());
    if (!session) give_up("open", session.error());
    const auto recovered = (*session)->recover({}, soon());
    if (!recovered) give_up("recover", recovered.error());
    BeginRequest begin = request(key, random_owner());
    begin.take_over_lease = begin.take_over_unknown = true;
    Result<BeginOutcome> begun = BeginOutcome{};
    (*session)->begin({&begin, 1}, {&begun, 1}, soon());
    if (!begun) give_up("begin", begun.error());
    std::printf("recovered %zu\n%s\n", recovered->size(),
                begun->kind == BeginOutcome::Kind::acquired ? "acquired" : "refused");
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 5 && std::strcmp(arguments[1], "race") == 0)
        return race(arguments[2], std::atoi(arguments[3]), std::atoi(arguments[4]));
    if (count == 4 && std::strcmp(arguments[1], "batches") == 0) return batches(arguments[2], arguments[3]);
    if (count == 4 && std::strcmp(arguments[1], "rob") == 0) return rob(arguments[2], arguments[3]);
    return 1;
}
