// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "nebis/sqlite.hpp"
#include "sqlite_floor.hpp"
#include "sqlite_ours.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

/// begin in a table that grows: new keys come down anywhere among those that are there.
namespace nebis::bench {
namespace {

constexpr std::size_t batch = 64;

Deadline in_a_while() { return std::chrono::steady_clock::now() + std::chrono::minutes(5); }

/// A store filled with finished records, and a session to begin on.
class Filled {
public:
    Filled(const Context& context, std::size_t rows)
        : folder_(context.folder()),
          keys_(rows),
          store_(sqlite::store(sqlite::Options{.path = folder_.file("records.db"), .create_schema = true})) {
        store_->create_schema(in_a_while()).value();
        fill(rows);
        session_ = store_->open(in_a_while()).value();
        begin_one();
    }

    /// The median of `times` begins, one row and one commit each, in microseconds.
    double one(std::size_t times) {
        std::vector<double> samples;
        for (std::size_t n = 0; n < times; ++n) samples.push_back(begin_one());
        return quantile(samples, 0.5);
    }
    /// The same for batches of 64 rows.
    double many(std::size_t times) {
        std::vector<double> samples;
        for (std::size_t n = 0; n < times; ++n) samples.push_back(begin(batch));
        return quantile(samples, 0.5);
    }

private:
    /// Straight with SQL, in the order of the keys, without a flush: only what is there afterwards matters.
    void fill(std::size_t rows) {
        sqlite3* raw = nullptr;
        if (sqlite3_open(folder_.file("records.db").c_str(), &raw) != SQLITE_OK) give_up(sqlite3_errmsg(raw));
        const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(raw, sqlite3_close);
        const std::string sql =
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536; "
            "BEGIN;"
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT " +
            std::to_string(rows) +
            ") "
            "INSERT INTO idempotent_record (trace_id, biz_type, status, version, owner, attempts, request_hash, "
            "lease_expire_time,"
            " expire_time, create_time, update_time, instance, response_body)"
            " SELECT CAST(printf('shop-7/createOrder/%016x', i * " +
            std::to_string((std::uint64_t{1} << 62) / rows) +
            ") AS BLOB),"
            " 'createOrder', 1, 1764600000000000 + i, randomblob(16), 1, randomblob(33), 1764600000000 + i / 100,"
            " 4102444800000 + i / 100, 1764600000000 + i / 100, 1764600000000 + i / 100, 'bench-host-1-4242', "
            "zeroblob(220) FROM n;"
            "COMMIT; PRAGMA locking_mode=NORMAL; PRAGMA journal_mode=WAL";
        if (sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            give_up(sqlite3_errmsg(db.get()));
    }

    double begin_one() { return begin(1); }

    double begin(std::size_t size) {
        std::vector<std::string> trace_ids;
        for (std::size_t i = 0; i < size; ++i) {
            char text[64];
            std::snprintf(text, sizeof text, "shop-7/createOrder/%016llx-%04llx",
                          static_cast<unsigned long long>(keys_.number() >> 2),
                          static_cast<unsigned long long>(keys_.number() & 0xffff));
            trace_ids.emplace_back(text);
        }
        std::sort(trace_ids.begin(), trace_ids.end());
        std::vector<BeginRequest> in;
        for (const auto& trace_id : trace_ids) {
            BeginRequest request;
            request.trace_id = trace_id;
            request.operation = "createOrder";
            for (auto& byte : request.owner.bytes) byte = static_cast<unsigned char>(keys_.number());
            for (auto& byte : request.request_hash.digest) byte = static_cast<unsigned char>(keys_.number());
            request.request_hash.scheme = 1;
            request.lease_millis = 30'000;
            request.retention_millis = 86'400'000;
            request.instance = "bench-host-1-4242";
            in.push_back(request);
        }
        std::vector<Result<BeginOutcome>> out(size, Result<BeginOutcome>(BeginOutcome{}));
        const auto start = Clock::now();
        session_->begin(in, out, in_a_while());
        const double micros = seconds_since(start) * 1e6;
        for (const auto& one : out) {
            if (!one) give_up("begin failed: " + one.error().text());
            if (one->kind != BeginOutcome::Kind::acquired) give_up("a new key wasn't acquired");
        }
        return micros;
    }

    Folder folder_;
    Keys keys_;
    std::shared_ptr<Store> store_;
    std::unique_ptr<StoreSession> session_;
};

std::string text_of(std::size_t rows) {
    return rows >= 1'000'000 ? std::to_string(rows / 1'000'000) + " M rows" : std::to_string(rows / 1'000) + " k rows";
}

}  // namespace

void growth(Context& context) {
    const std::vector<std::size_t> sizes = context.quick() ? std::vector<std::size_t>{10'000, 100'000, 1'000'000}
                                                           : std::vector<std::size_t>{10'000, 1'000'000, 10'000'000};
    std::vector<std::unique_ptr<Filled>> tables;
    for (const std::size_t rows : sizes) {
        const auto start = Clock::now();
        tables.push_back(std::make_unique<Filled>(context, rows));
        context.say("filled " + text_of(rows) + " in " + std::to_string(static_cast<int>(seconds_since(start))) + " s");
    }
    std::vector<Contestant> contestants;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        contestants.push_back(
            {text_of(sizes[i]) + ", one begin", "us", [&, i] { return tables[i]->one(context.count(2'000)); }});
        contestants.push_back({text_of(sizes[i]) + ", 64 begins in one commit", "us",
                               [&, i] { return tables[i]->many(context.count(200)); }});
    }
    const auto figures = context.interleave(contestants);
    context.at_most("begin-growth", ratio(figures[4], figures[0]), 1.5);
    context.at_most("begin-growth-batches", ratio(figures[5], figures[1]), 1.5);
}

}  // namespace nebis::bench
