// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/policy.hpp"
#include "nebis/token.hpp"
#include "observe/messages.hpp"
#include "seal/key_ring.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Every setting as a plain value. What each one means, its unit, range and default: `table.cpp`, the one table of
/// settings (D7); the reference page docs/configuration.md is made of it.
namespace nebis::config {

/// Where a value was written: a file with line and column (from 1), or an environment variable or flag (line 0).
struct Location {
    std::string source = {};
    std::size_t line = 0;
    std::size_t column = 0;

    std::string text() const;  ///< "nebis.yaml:12:5", "environment variable NEBIS__…", "--set mode"
    friend bool operator==(const Location&, const Location&) = default;
};

/// A value as it was written: one text or a list of texts. What the table turns into the fields below.
struct Value {
    Value() = default;
    Value(const char* text) : items{text} {}                                        // NOLINT: implicit on purpose
    Value(std::string text) : items{std::move(text)} {}                             // NOLINT: implicit on purpose
    Value(std::vector<std::string> texts) : items(std::move(texts)), list(true) {}  // NOLINT: implicit on purpose

    std::vector<std::string> items;
    bool list = false;
    friend bool operator==(const Value&, const Value&) = default;
};

/// Values by key ("lock-renew.enabled"), as under `operations.<name>`.
using Overrides = std::map<std::string, Value, std::less<>>;

/// An extension point: the name to look up in `Drivers` or, when the name is empty, the object given in code. Both
/// empty: the built-in behaviour.
template <class T>
struct Extension {
    std::string name;
    std::shared_ptr<T> object;
    bool given() const noexcept { return !name.empty() || object != nullptr; }
};

/// How one operation is protected, every value resolved.
struct OperationSettings {
    std::string operation;
    Profile profile = Profile::strict;
    bool enabled = true;
    Enforcement enforcement = Enforcement::enforce;  ///< `off` too when `enabled` is false

    // identify
    KeyRule key;
    std::shared_ptr<const KeyGenerator> key_generator;  ///< given in code: it makes the key, and `key` is not looked at
    std::string accept_key_rule;  ///< S64: the start of the digest of a rule that may replace the fleet's
    bool key_required = true;
    bool strict_key_header = false;
    std::vector<std::string> noise;  ///< beyond the built-in ones
    bool default_noise = true;
    Scope scope = Scope::caller;
    bool caller_required = false;

    // effect
    Mode mode = Mode::execute;
    Claim claim = Claim::before;

    // lease
    std::chrono::milliseconds lease{10'000};
    bool renew = true;
    std::chrono::milliseconds renew_interval{3'000};  ///< resolved: never more than a third of the lease
    std::chrono::milliseconds lease_max{60'000};

    // retention
    std::chrono::milliseconds retention{std::chrono::hours{24}};
    std::optional<std::chrono::milliseconds> longest_retry;      ///< empty: not known
    std::optional<std::chrono::milliseconds> unknown_retention;  ///< empty: until settled

    // what duplicates get
    OnDuplicate on_duplicate = OnDuplicate::refuse;
    std::chrono::milliseconds wait{5'000};
    OnFinished on_finished = OnFinished::replay;
    OnUnknown on_unknown = OnUnknown::hold;
    std::chrono::milliseconds local_cache{5'000};  ///< 0: no cache in the process

    // failures
    Unlisted unlisted = Unlisted::unknown;
    std::vector<std::string> retryable_exceptions;
    std::vector<std::string> final_exceptions;
    std::vector<std::string> unknown_exceptions;
    OnStoreFailure on_store_failure = OnStoreFailure::deny;
    bool fail_open = true;
    std::chrono::milliseconds budget{3'000};  ///< resolved: shorter than the lease

    // limits and snapshots
    std::size_t quota_new_keys = 0;  ///< of one caller in `quota_window`; 0: no quota
    std::chrono::milliseconds quota_window{60'000};
    std::size_t max_request_bytes = 1024 * 1024;
    std::size_t max_response_bytes = 256 * 1024;
    bool store_request = false;
    std::vector<std::string> redact;  ///< paths of a request's body that its snapshot doesn't show

    // where records live
    std::string data_source = "primary";
    std::string table = "idempotent_record";

    // extension points
    Extension<const ResponseProducer> response_producer;
    Extension<const ExceptionClassifier> exception_classifier;
    Extension<OutcomeResolver> outcome_resolver;
    Extension<TransactionHooks> transaction_hooks;
    Extension<const Redactor> redactor;
};

/// A store's database (`datasources.<name>`) or the lock service (`lock`).
struct DataSource {
    std::string driver = {};
    std::map<std::string, std::string> values =
        {};                      ///< the driver's own keys ("path", "url", …); "create-schema" too when it is true
    bool create_schema = false;  ///< stores: make the table when it is missing
    std::optional<std::size_t> max_sessions = {};  ///< empty: what the driver says is best
    std::chrono::milliseconds session_wait{800};   ///< longest wait for a free session
};

struct SchedulerSettings {
    bool enabled = true;
    std::chrono::milliseconds interval{60'000};
    std::string cron = "0 0 2 * * ?";
    std::chrono::milliseconds processing_timeout{300'000};  ///< recovery leaves rows alone that are younger
    bool own_rows_only = false;
    std::size_t recovery_batch = 100;
    std::size_t cleanup_batch = 500;
};

struct LimitSettings {
    std::size_t batch_max = 64;
    std::size_t queue_max = 10'000;      ///< requests queued for one store or lock
    std::size_t waiters_max = 100'000;   ///< duplicates waiting in this process
    std::size_t attempts_max = 100'000;  ///< handlers in flight in this process
    std::size_t local_cache_bytes = 64 * 1024 * 1024;
    std::size_t flood_filter_keys = 0;  ///< 0: no filter
    std::size_t quota_callers = 10'000;
    std::chrono::milliseconds start_timeout{10'000};
    std::chrono::milliseconds drain_timeout{10'000};
};

struct BreakerSettings {
    std::size_t failures = 5;
    std::chrono::milliseconds open{1'000};
};

/// A secret that has an id.
struct KeySecret {
    std::string secret;
    std::string file;  ///< where `secret` was read from; empty: it stands in the configuration
};
struct TokenSettings {
    std::map<std::string, KeySecret> keys;  ///< by key id
    std::string current;                    ///< id of the key that signs; the only key when empty
    std::chrono::milliseconds lifetime{1'800'000};
};

/// Sealing of stored snapshots; off without keys.
struct SealSettings {
    std::map<std::string, KeySecret> keys;  ///< by key id
    std::string current;                    ///< id of the key that seals; the only key when empty
    bool required = false;                  ///< what isn't sealed is refused
};

enum class InProgressStatus : std::uint8_t { conflict, too_early, accepted };       ///< 409, 425, 202
enum class MismatchStatus : std::uint8_t { unprocessable, conflict, bad_request };  ///< 422, 409, 400

struct HttpSettings {
    std::string listen = "127.0.0.1:8080";
    std::string documentation_url;
    std::string replayed_header = "Idempotency-Replayed";
    std::vector<std::string> replay_headers = {
        "Content-Type", "Content-Language", "Content-Location", "ETag", "Last-Modified", "Link", "Location"};
    InProgressStatus in_progress_status = InProgressStatus::conflict;
    MismatchStatus mismatch_status = MismatchStatus::unprocessable;
    std::size_t threads = 2;
    std::size_t max_connections = 1'024;
    std::size_t max_header_bytes = 16 * 1024;
    std::chrono::milliseconds read_timeout{30'000};
    std::chrono::milliseconds idle_timeout{60'000};
};

struct MessageSettings {
    observe::Language language = observe::Language::en;
    std::map<std::string, std::string> overrides;  ///< by message id, see observe/messages.hpp
};

struct Settings {
    std::string instance;                            ///< empty: the engine makes one
    std::map<std::string, DataSource> data_sources;  ///< never empty after loading
    DataSource lock{.driver = "local"};
    std::string key_prefix;      ///< before every name in a shared lock service (S38)
    bool key_rule_guard = true;  ///< S64
    SchedulerSettings scheduler;
    LimitSettings limits;
    BreakerSettings breaker;
    TokenSettings token;
    SealSettings seal;
    HttpSettings http;
    MessageSettings messages;

    OperationSettings defaults;  ///< built-in < profile < what the configuration says for all operations
    std::map<std::string, Overrides, std::less<>> operations;  ///< `operations.<name>.*`

    std::map<std::string, Location, std::less<>> where;  ///< by dotted path: each value that was written
    std::set<std::string, std::less<>> secrets;          ///< paths of drivers' values that must not be shown
    std::vector<std::string> warnings;                   ///< "file:line:column: …"
};

/// The token secrets as TokenService::make takes them.
TokenKeys token_keys(const TokenSettings& token);

/// The keys that seal, as KeyRing::make takes them.
std::vector<seal::RingKey> seal_keys(const SealSettings& seal);

/// Where an operation's value of this key was written: for the operation itself, else for all; a value of code has the
/// operation for its source.
Location place_of(const Settings& settings, std::string_view operation, std::string_view key);

/// The value at a path below nebis.idempotent ("http.documentation-url") as text; lists joined with ", "; empty when
/// unset, unknown or secret.
std::string setting_text(const Settings& settings, std::string_view path);

/// What is used when no file is given: one SQLite file `nebis.db` in the working directory, in-process lock, profile
/// strict.
Settings default_settings();

/// The names and values that a profile sets, below everything that is written.
const Overrides& profile_values(Profile profile);

/// All layers of one operation put together: built-in default < profile < configuration for all operations < `policy` <
/// `operations.<name>.*`.
/// **Errors**: `misconfigured`, naming each value that is out of range and each pair that contradicts, with a hint.
Result<OperationSettings> resolve(const Settings& settings, const Policy& policy);

/// True for names of exception types that leave open whether the effect happened (time-outs, lost connections).
bool leaves_outcome_open(std::string_view exception_type);

}  // namespace nebis::config
