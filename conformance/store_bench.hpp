// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/conformance.hpp"
#include "probe.hpp"

#include <deque>
#include <optional>
#include <string>

namespace nebis::conformance {

/// One call's fields with the defaults of an ordinary attempt.
struct Try {
    std::int64_t lease = 60'000;
    std::int64_t retention = 3'600'000;
    std::int64_t unknown_retention = 0;
    bool take_over_lease = false;
    bool take_over_unknown = false;
    bool lapse = false;
    RecordStatus status = RecordStatus::processing;
    StoreMillis not_after = 0;
    std::uint8_t hash = 1;
    std::uint8_t scheme = 1;
    std::string_view operation = "order";
    std::string_view instance = "node-1";
    std::string_view snapshot = "{}";
};

/// What a finish says beyond who and what.
struct End {
    std::int64_t retention = 3'600'000;
    bool from_processing = true;
    bool from_unknown = true;
    bool from_marked = false;
    std::string_view outcome_ref = {};
    std::optional<Owner> new_owner = {};
};

Owner owner(std::uint64_t number);
RequestHash request_hash(std::uint8_t digest, std::uint8_t scheme = 1);
Response response(std::string body, int status = 200);

/// A store on the test bench: single calls without ceremony, a second view of the rows, a clock.
class StoreBench : public Probe {
public:
    explicit StoreBench(const StoreFixture& fixture);

    Store& store() { return *store_; }
    Store& other_store() { return *other_store_; }
    StoreSession& session() { return *session_; }
    StoreSession& other_session() { return *other_session_; }
    std::unique_ptr<StoreSession> open(Store& store);
    bool has_another() const { return static_cast<bool>(fixture_.another); }
    const StoreFixture& fixture() const { return fixture_; }

    static Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }
    StoreMillis now() { return take(session().now(soon()), "now answers"); }
    /// After this the store's clock shows at least `span` more.
    void pass(std::chrono::milliseconds span);
    /// A lease that has time to be seen alive.
    std::int64_t short_lease() const { return fixture_.advance ? 1000 : fixture_.patience.count(); }
    /// Time enough for it to be over.
    void pass_lease() { pass(std::chrono::milliseconds(short_lease() + 1)); }

    Result<BeginOutcome> try_begin(std::string_view key, const Owner& owner, const Try& how = {},
                                   StoreSession* session = nullptr);
    BeginOutcome begin(std::string_view key, const Owner& owner, const Try& how = {}, StoreSession* session = nullptr);
    /// The version won; the case ends when the key isn't.
    std::uint64_t acquire(std::string_view key, const Owner& owner, const Try& how = {},
                          StoreSession* session = nullptr);
    FinishOutcome finish(std::string_view key, std::uint64_t version, const Owner& owner, RecordStatus status,
                         const Response* response = nullptr, const End& how = {}, StoreSession* session = nullptr);
    RenewOutcome::Kind renew(std::string_view key, std::uint64_t version, const Owner& owner, std::int64_t lease,
                             bool ask = false, StoreSession* session = nullptr);
    std::optional<Record> find(std::string_view key, StoreSession* session = nullptr);
    /// The row, which must be there.
    Record row(std::string_view key, StoreSession* session = nullptr);

    /// A row in that status, final ones with a response, its owner being `owner(number)`.
    Record prepared(std::string_view key, RecordStatus status, std::uint64_t number, const Try& how = {},
                    std::int64_t retention = 3'600'000);

private:
    const StoreFixture& fixture_;
    std::shared_ptr<Store> store_, other_store_;
    std::unique_ptr<StoreSession> session_, other_session_;
};

struct StoreCase {
    const char* name;
    void (*run)(StoreBench&);
};

/// One list for each file of cases.
std::vector<StoreCase> begin_cases();
std::vector<StoreCase> finish_cases();
std::vector<StoreCase> upkeep_cases();
std::vector<StoreCase> batch_cases();
std::vector<StoreCase> race_cases();

}  // namespace nebis::conformance
