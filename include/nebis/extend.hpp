// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/execution.hpp"
#include "nebis/gate.hpp"
#include "nebis/request.hpp"
#include "nebis/standard.hpp"
#include "nebis/store.hpp"

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Extension points (S34). Each is small, used through `Policy` in code or by name in the configuration. **Threads**:
/// all are called from many threads at once. An exception that leaves an extension point is treated as its failure,
/// never as a crash.
namespace nebis {

/// Makes the idempotency key. The article's `IdempotentKeyGenerator`. **Errors**: `rejected_input` with a sentence that
/// names what is missing; an empty or blank key is an error anyway.
class KeyGenerator {
public:
    virtual ~KeyGenerator() = default;
    virtual Result<std::string> generate(const Request& request) const = 0;
};

/// What a duplicate is to be told about, for `duplicate-handler: return` and for messages.
struct DuplicateInfo {
    std::string_view operation;
    Outcome outcome = Outcome::in_progress;  ///< in_progress, outcome_unknown or duplicate
    std::int64_t retry_after_millis = 0;
};

/// Makes the value that a refused duplicate gets. The article's `IdempotentResponseProducer`.
class ResponseProducer {
public:
    virtual ~ResponseProducer() = default;
    virtual Response produce(const DuplicateInfo& duplicate, const Request& request) const = 0;
};

/// What an exception or a returned value says about the effect. Source: protocol, step 5; reliability rule "classify by
/// certainty, not by kind".
enum class Certainty : std::uint8_t {
    done,          ///< → SUCCESS
    not_executed,  ///< surely without effect → FAIL
    rejected,      ///< failed for good → REJECTED
    unknown,       ///< nobody knows → UNKNOWN
    unlisted,      ///< no opinion: the operation's `unlisted` setting decides
};

/// Sorts what a handler threw, before the configured lists do. `type_name` is the demangled type.
class ExceptionClassifier {
public:
    virtual ~ExceptionClassifier() = default;
    virtual Certainty classify(std::exception_ptr failure, std::string_view type_name) const = 0;
};

/// What the business data say about an UNKNOWN record.
struct Resolution {
    enum class Kind : std::uint8_t {
        happened,        ///< settle as SUCCESS with `response`
        refused,         ///< settle as REJECTED with `response`
        did_not_happen,  ///< did not *and can no longer* happen: the key may run again
        dont_know,       ///< leave it UNKNOWN
    };
    Kind kind = Kind::dont_know;
    Response response;
};

/// Looks in the business data (`on-unknown: ask`). Called by one instance at a time for a record. May take long; keep
/// `deadline`.
class OutcomeResolver {
public:
    virtual ~OutcomeResolver() = default;
    virtual Resolution resolve(const Record& record, Deadline deadline) = 0;
};

/// Removes secrets from snapshots before they are stored.
class Redactor {
public:
    virtual ~Redactor() = default;
    virtual std::string redact(std::string_view body, std::string_view content_type) const = 0;
};

/// `hooked` mode: a transaction coordinator decides. Order of calls, source: protocol, "Modes of effect", and the
/// article §3.5: begin is committed → `before_transaction` (returns the coordinator's transaction id, which is written
/// into the row as `outcome_ref` before anything else) → handler → response written, still PROCESSING → `commit` or
/// `rollback` → SUCCESS or FAIL. A commit or rollback whose fate is not known leaves UNKNOWN, and recovery asks
/// `decision`.
class TransactionHooks {
public:
    virtual ~TransactionHooks() = default;
    virtual Result<std::string> before_transaction(const Execution& execution) = 0;
    virtual Result<void> commit(const std::string& transaction) = 0;
    virtual Result<void> rollback(const std::string& transaction) = 0;
    enum class Decision : std::uint8_t { committed, rolled_back, undecided, never_heard };
    /// Asked by recovery. `never_heard` counts as rolled back only if `presumed_abort()`.
    virtual Result<Decision> decision(const std::string& transaction) = 0;
    virtual bool presumed_abort() const noexcept { return false; }
};

// ---- atomic

/// How one `atomic` transaction ended.
struct AtomicReport {
    enum class Kind : std::uint8_t {
        committed,    ///< effect and record together: `status` SUCCESS or REJECTED, `response`
        rolled_back,  ///< surely nothing happened: `failure` is what the body threw (or null and `error`)
        fenced_off,   ///< the record wasn't ours any more: nothing happened
        ambiguous,    ///< the commit's fate is not known yet; `error`
        found,        ///< claim inside: somebody was there before; `begun` says what was found
    };
    Kind kind = Kind::rolled_back;
    RecordStatus status = RecordStatus::success;
    Response response;
    std::exception_ptr failure;
    std::optional<Error> error;
    std::optional<BeginOutcome> begun;
};

/// What the library hands to a TransactionRunner for one attempt.
struct AtomicClaim {
    bool inside = false;        ///< claim: inside: insert the record first; `begin` holds the request
    bool unprotected = false;   ///< observe mode, `enabled: false`, `on-store-failure: allow`: a plain transaction, no
                                ///< record is touched
    BeginRequest begin;         ///< views live until `run` returns
    std::uint64_t version = 0;  ///< claim: before
    Owner owner;
    std::string_view trace_id;
    std::int64_t retention_millis = 0;
    std::size_t max_response_bytes = 0;
    std::chrono::milliseconds lock_wait{0};  ///< how long an insert may wait for a concurrent one
    const Store* store = nullptr;            ///< whose table holds the record; null: the default table of the database
};

/// Runs a body inside a transaction that also carries the record: written once per database kind
/// (`nebis::sqlite::atomic` …). The rules it keeps are those of the protocol, "Rules of every atomic transaction".
class TransactionRunner {
public:
    using Body = std::function<Response(void* transaction)>;  ///< throws to roll back; `Rejected` commits the record
                                                              ///< alone as REJECTED
    virtual ~TransactionRunner() = default;
    virtual AtomicReport run(const AtomicClaim& claim, Execution& execution, const Body& body, Deadline deadline) = 0;
    /// True when `store`'s table lives in this runner's database: else the operation is refused when it is wrapped.
    virtual bool serves(const Store& store) const noexcept = 0;
};

/// A body bound to its database: what `nebis::sqlite::atomic(db, body)` returns and `idempotent` and the HTTP server
/// understand. The body is called as `body(arguments…, Tx transaction, Execution&)`.
template <class Tx, class Body>
struct Atomic {
    using transaction_type = Tx;
    std::shared_ptr<TransactionRunner> runner;
    Body body;
};

template <class T>
inline constexpr bool is_atomic = false;
template <class Tx, class Body>
inline constexpr bool is_atomic<Atomic<Tx, Body>> = true;

// ---- drivers and names

/// What a driver's factory gets: the flat settings of its data source ("path", "url", …) and the table name.
struct DriverSettings {
    std::string data_source;  ///< its name ("primary")
    std::string table = "idempotent_record";
    std::map<std::string, std::string> values;
};

/// One key of a driver's own settings, so that the loader can check it and the reference page can show it (decision
/// D7). A driver that declares none takes any key with a plain value.
struct DriverKey {
    enum class Kind : std::uint8_t { text, flag, integer, choice, secret };
    std::string name;  ///< kebab-case, unit included: "busy-timeout-millis"
    Kind kind = Kind::text;
    std::string fallback;  ///< the value when it is not written; for the reference page
    std::int64_t min = 0;  ///< integer
    std::int64_t max = 0;
    std::vector<std::string> choices;  ///< choice
    std::string about;                 ///< what it does, and what too high and too low cost
    bool required = false;
};

class Migrations;

/// Everything that can be named in a configuration. A plain value filled in `main` (no global registry, decision D6).
struct Drivers {
    // Made in the library: eleven maps are much to compile for whoever includes this.
    Drivers();
    Drivers(const Drivers&);
    Drivers(Drivers&&) noexcept;
    Drivers& operator=(const Drivers&);
    Drivers& operator=(Drivers&&) noexcept;
    ~Drivers();

    std::map<std::string, std::function<Result<std::shared_ptr<Store>>(const DriverSettings&)>, std::less<>> stores;
    std::map<std::string, std::function<Result<std::shared_ptr<Gate>>(const DriverSettings&)>, std::less<>> gates;
    std::map<std::string, std::shared_ptr<const KeyGenerator>, std::less<>> key_generators;
    std::map<std::string, std::shared_ptr<const ResponseProducer>, std::less<>> response_producers;
    std::map<std::string, std::shared_ptr<const ExceptionClassifier>, std::less<>> exception_classifiers;
    std::map<std::string, std::shared_ptr<OutcomeResolver>, std::less<>> outcome_resolvers;
    std::map<std::string, std::shared_ptr<TransactionHooks>, std::less<>> transaction_hooks;
    std::map<std::string, std::shared_ptr<const Redactor>, std::less<>> redactors;
    /// By driver name: what versions a store's tables; see migrate.hpp. A driver without one has no schema.
    std::map<std::string, std::function<Result<std::shared_ptr<Migrations>>(const DriverSettings&)>, std::less<>>
        migrations;
    std::map<std::string, std::vector<DriverKey>, std::less<>> store_keys;  ///< by driver name
    std::map<std::string, std::vector<DriverKey>, std::less<>> gate_keys;
};

}  // namespace nebis
