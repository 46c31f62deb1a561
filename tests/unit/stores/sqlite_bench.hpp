// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/execution.hpp"
#include "nebis/sqlite.hpp"
#include "runtime/execution_state.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

// What the tests of the SQLite store share: single calls without ceremony, and plain SQL behind the store's back.
namespace nebis::test {

inline Deadline in(std::chrono::milliseconds span) { return std::chrono::steady_clock::now() + span; }
inline Deadline soon() { return in(std::chrono::seconds(20)); }

inline Owner owner(unsigned number) {
    Owner made;
    made.bytes.fill(static_cast<unsigned char>(number));
    made.bytes[0] = static_cast<unsigned char>(number >> 8);
    return made;
}

inline BeginRequest begin_request(std::string_view key, const Owner& who) {
    BeginRequest request;
    request.trace_id = key;
    request.operation = "order";
    request.owner = who;
    request.request_hash.scheme = 1;
    request.lease_millis = 60'000;
    request.retention_millis = 3'600'000;
    request.instance = "test";
    return request;
}

inline Result<BeginOutcome> begin(StoreSession& session, const BeginRequest& request, Deadline deadline = soon()) {
    Result<BeginOutcome> out = Error(ErrorKind::internal, "not set");
    session.begin({&request, 1}, {&out, 1}, deadline);
    return out;
}
inline Result<BeginOutcome> begin(StoreSession& session, std::string_view key, const Owner& who,
                                  Deadline deadline = soon()) {
    return begin(session, begin_request(key, who), deadline);
}

inline Result<FinishOutcome> finish(StoreSession& session, std::string_view key, std::uint64_t version,
                                    const Owner& who, RecordStatus status = RecordStatus::success,
                                    const Response* response = nullptr, Deadline deadline = soon()) {
    FinishRequest request;
    request.trace_id = key;
    request.version = version;
    request.owner = who;
    request.status = status;
    request.response = response;
    request.retention_millis = 3'600'000;
    Result<FinishOutcome> out = Error(ErrorKind::internal, "not set");
    session.finish({&request, 1}, {&out, 1}, deadline);
    return out;
}

inline Result<FindOutcome> find(StoreSession& session, std::string_view key, Deadline deadline = soon()) {
    const FindRequest request{key};
    Result<FindOutcome> out = Error(ErrorKind::internal, "not set");
    session.find({&request, 1}, {&out, 1}, deadline);
    return out;
}

inline Result<RenewOutcome> renew(StoreSession& session, std::string_view key, std::uint64_t version, const Owner& who,
                                  Deadline deadline = soon()) {
    const RenewRequest request{key, version, who, 60'000, false};
    Result<RenewOutcome> out = Error(ErrorKind::internal, "not set");
    session.renew({&request, 1}, {&out, 1}, deadline);
    return out;
}

/// A connection of the test's own: an operator with a shell, another program, the business.
class Sql {
public:
    explicit Sql(const std::string& path) {
        if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) ADD_FAILURE() << sqlite3_errmsg(handle_);
        sqlite3_busy_timeout(handle_, 10'000);
    }
    ~Sql() { sqlite3_close_v2(handle_); }
    Sql(const Sql&) = delete;
    Sql& operator=(const Sql&) = delete;

    void run(const std::string& sql) {
        char* message = nullptr;
        if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK)
            ADD_FAILURE() << sql << ": " << message;
        sqlite3_free(message);
    }
    /// The first column of the first row; empty when there is none.
    std::string text(const std::string& sql) {
        std::string out;
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
            ADD_FAILURE() << sql << ": " << sqlite3_errmsg(handle_);
        if (sqlite3_step(statement) == SQLITE_ROW)
            if (const unsigned char* value = sqlite3_column_text(statement, 0))
                out = reinterpret_cast<const char*>(value);
        sqlite3_finalize(statement);
        return out;
    }
    int number(const std::string& sql) {
        const std::string value = text(sql);
        return value.empty() ? 0 : std::stoi(value);
    }
    sqlite3* get() const { return handle_; }

private:
    sqlite3* handle_ = nullptr;
};

/// A database with a record table and a business table `orders`.
class SqliteTest : public ::testing::Test {
protected:
    SqliteTest() : SqliteTest(sqlite::Options()) {}
    explicit SqliteTest(sqlite::Options options)
        : database_(with_path(std::move(options))), store_(sqlite::store(database_)) {
        require(store_->verify(soon()));
        session_ = open(*store_);
        Sql(path()).run("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, token INTEGER)");
    }

    std::string path() const { return folder_.file("orders.db"); }

    template <class T>
    static void require(const Result<T>& result) {
        if (!result) throw std::runtime_error(result.error().text());
    }
    static std::unique_ptr<StoreSession> open(Store& store) {
        auto session = store.open(soon());
        require(session);
        return std::move(*session);
    }
    std::uint64_t acquire(std::string_view key, const Owner& who) {
        auto out = begin(*session_, key, who);
        require(out);
        EXPECT_EQ(out->kind, BeginOutcome::Kind::acquired);
        return out->version;
    }
    Record row(std::string_view key) {
        auto out = find(*session_, key);
        require(out);
        if (!out->record) throw std::runtime_error("no such row");
        return *out->record;
    }
    bool there(std::string_view key) {
        auto out = find(*session_, key);
        require(out);
        return out->record.has_value();
    }
    int orders() { return Sql(path()).number("SELECT count(*) FROM orders"); }

    static Execution execution() { return Execution(std::make_shared<runtime::ExecutionState>()); }

    TemporaryFolder folder_;
    sqlite::Database database_;
    std::shared_ptr<Store> store_;
    std::unique_ptr<StoreSession> session_;

private:
    sqlite::Options with_path(sqlite::Options options) const {
        options.path = path();
        options.create_schema = true;
        return options;
    }
};

}  // namespace nebis::test
