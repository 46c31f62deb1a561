// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// A literal port of the article's idempotency component: its interceptor, its lock scripts, its recovery and its
/// clean-up, flaws and all. It is the straw man that every proof in this tree has to convict; nothing of the product
/// uses it. Sections (§) are the article's.
namespace nebis::strawman {

using Millis = std::int64_t;
using Clock = std::function<Millis()>;  ///< milliseconds; a test may turn it by hand
Millis steady_millis();

// ---- the record table (§3.3) --------------------------------------------------------------------------------------

enum class Status : std::uint8_t { processing = 0, success = 1, fail = 2 };

struct Record {
    Status status = Status::processing;
    std::string biz_type;
    std::string request_body;
    std::string response_body;  ///< in the table, written by nobody (§4.3): a replay has nothing to give
    Millis update_time = 0;
    Millis expire_time = 0;
};

/// **Threads**: implementations are safe.
class RecordTable {
public:
    virtual ~RecordTable() = default;
    /// INSERT; false when the unique index says that the trace id is there.
    virtual bool try_record(const std::string& trace_id, const std::string& biz_type,
                            const std::string& request_body) = 0;
    virtual std::optional<Record> select_by_trace_id(const std::string& trace_id) = 0;
    /// UPDATE … SET status = ? WHERE trace_id = ?
    virtual void update_status(const std::string& trace_id, Status status) = 0;
    /// UPDATE … SET status = FAIL WHERE status = PROCESSING AND update_time < now − threshold; the trace ids.
    virtual std::size_t recover_timeout_records(Millis threshold,
                                                const std::function<void(const std::string&)>& each) = 0;
    /// DELETE … WHERE expire_time < now AND status = SUCCESS
    virtual std::size_t delete_expired_records() = 0;
};

class MemoryTable : public RecordTable {
public:
    explicit MemoryTable(Clock clock = steady_millis, Millis expire = 24 * 3'600'000)
        : clock_(std::move(clock)), expire_(expire) {}
    bool try_record(const std::string& trace_id, const std::string& biz_type, const std::string& request_body) override;
    std::optional<Record> select_by_trace_id(const std::string& trace_id) override;
    void update_status(const std::string& trace_id, Status status) override;
    std::size_t recover_timeout_records(Millis threshold, const std::function<void(const std::string&)>& each) override;
    std::size_t delete_expired_records() override;

private:
    Clock clock_;
    Millis expire_;
    std::mutex mutex_;
    std::map<std::string, Record> rows_;
};

// ---- the lock (§3.2) ----------------------------------------------------------------------------------------------

/// **Threads**: implementations are safe.
class IdempotentLock {
public:
    virtual ~IdempotentLock() = default;
    /// SET NX PX; when the key is there with an equal value: "a retry of the same request", let in.
    virtual bool try_lock(const std::string& trace_id, const std::string& request_id, Millis expire) = 0;
    /// DEL when the value is equal.
    virtual void unlock(const std::string& trace_id, const std::string& request_id) = 0;
    virtual bool exists(const std::string& trace_id) = 0;
    /// DEL, whoever holds it: what the recovery task does (§3.4).
    virtual void remove(const std::string& trace_id) = 0;
};

class MemoryLock : public IdempotentLock {
public:
    explicit MemoryLock(Clock clock = steady_millis) : clock_(std::move(clock)) {}
    bool try_lock(const std::string& trace_id, const std::string& request_id, Millis expire) override;
    void unlock(const std::string& trace_id, const std::string& request_id) override;
    bool exists(const std::string& trace_id) override;
    void remove(const std::string& trace_id) override;
    /// The holder's requestId, empty when nobody holds it.
    std::string holder(const std::string& trace_id);
    /// Redis restarts without persistence, or fails over to an empty replica.
    void forget_everything();

private:
    struct Held {
        std::string request_id;
        Millis end = 0;
    };
    std::map<std::string, Held>::iterator find_live(const std::string& trace_id);
    Clock clock_;
    std::mutex mutex_;
    std::map<std::string, Held> locks_;
};

// ---- the interceptor (§4.3) ---------------------------------------------------------------------------------------

struct Request {
    std::string request_id;  ///< header X-Request-Id, may be empty
    std::string body;
};

/// The article's IdempotentException: no key, or "in progress".
class IdempotentException : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown by a point of `Options::at` to play the death of the process: nothing is caught, written or released.
struct ProcessDied {};

struct Options {
    std::string biz_type = "order";
    Millis lock_expire = 10'000;  ///< §4.1, the default
    /// §3.2: without X-Request-Id "the component derives a requestId from the traceId". False: a new one for each call.
    bool derive_request_id = true;
    bool recover_when_lock_gone = true;  ///< §3.4, first mechanism
    bool fail_open = false;              ///< §5.3
    /// Called at each step with its name, so that a test can stop a thread there.
    std::function<void(std::string_view point)> at = [](std::string_view) {};
};

/// What a caller got.
struct Reply {
    std::string body;
    bool replayed = false;
};

/// **Threads**: safe, as the article's aspect is.
class Interceptor {
public:
    Interceptor(RecordTable& table, IdempotentLock& lock, Options options = {})
        : table_(table), lock_(lock), options_(std::move(options)) {}

    /// **Errors**: IdempotentException for an empty key and for "in progress"; whatever the handler throws.
    Reply run(const std::string& key, const Request& request, const std::function<std::string()>& handler);

private:
    std::string request_id(const std::string& trace_id, const Request& request);
    bool acquire(const std::string& trace_id, const std::string& id);

    RecordTable& table_;
    IdempotentLock& lock_;
    Options options_;
};

/// §3.4 and §4.4: PROCESSING for longer than the threshold → FAIL, and its lock is deleted. How many.
std::size_t recover_processing_records(RecordTable& table, IdempotentLock& lock, Millis threshold = 300'000);
/// §4.4. How many rows were deleted.
std::size_t clean_expired_records(RecordTable& table);

}  // namespace nebis::strawman
