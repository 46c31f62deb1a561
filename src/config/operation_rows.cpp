// SPDX-License-Identifier: Apache-2.0
#include "config/checks.hpp"
#include "config/table.hpp"

#include <type_traits>

/// The rows that hold for every operation and may be overridden under `operations.<name>`.
namespace nebis::config {
namespace {

// An enum of one byte may be reached through unsigned char; its enumerators are numbered like the row's choices.
template <class E>
unsigned char* choice(E& field) {
    static_assert(std::is_enum_v<E> && sizeof(E) == 1);
    return reinterpret_cast<unsigned char*>(&field);
}

constexpr std::int64_t day_hours = 24;
constexpr std::int64_t year_hours = 365 * day_hours;
constexpr std::int64_t year_millis = year_hours * 3'600'000;
constexpr std::int64_t mebibyte = 1024 * 1024;

}  // namespace

std::vector<Row> operation_rows() {
    using T = Target;
    return {
        {.path = "profile",
         .field = [](T& t) -> Field { return choice(t.operation.profile); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"strict", "article"},
         .fleet = true,
         .about = "A set of defaults. `strict` never runs a request again while its outcome is unknown. `article` "
                  "takes the defaults of the "
                  "original component: an owner that died is run again, unlisted exceptions may run again, no renewal, "
                  "no fail-open. Every "
                  "single key still overrides it."},
        {.path = "enabled",
         .field = [](T& t) -> Field { return &t.operation.enabled; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "`false` is the same as `enforcement: off`."},
        {.path = "enforcement",
         .field = [](T& t) -> Field { return choice(t.operation.enforcement); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"enforce", "observe", "off"},
         .reload = true,
         .about = "`observe` counts what would have been refused or replayed and lets every request run; nothing is "
                  "stored. `off` lets requests "
                  "through untouched."},

        // ---- which request is it
        {.path = "key-expression",
         .field = [](T& t) -> Field {
             return KeyField{&t.operation.key, KeyRule::Kind::expression};
         },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 1024,
         .check = check_key_expression,
         .alternative = "key",
         .fleet = true,
         .unset = "the rule given in code, else by priority: header or one-time token, marked fields, all parameters",
         .about = "The key is what this expression gives, such as `#request.orderId + ':' + #request.userId`. Null or "
                  "blank is an error, never "
                  "a key. Changing it makes new keys for old requests: see `key-rule-guard`."},
        {.path = "key-from-header",
         .field = [](T& t) -> Field {
             return KeyField{&t.operation.key, KeyRule::Kind::header};
         },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_header_name,
         .alternative = "key",
         .fleet = true,
         .unset = "see `key-expression`",
         .about = "The key is the value of this header, `Idempotency-Key` in the IETF draft."},
        {.path = "key-from-token",
         .field = [](T& t) -> Field {
             return KeyField{&t.operation.key, KeyRule::Kind::token};
         },
         .kind = Kind::list,
         .operation = true,
         .min = 1,
         .max = 2,
         .check = check_header_or_pointer,
         .alternative = "key",
         .fleet = true,
         .unset = "see `key-expression`",
         .about = "The key is a one-time token from this header, else from this JSON pointer of the body: "
                  "`[X-Idempotent-Token, /token]`."},
        {.path = "key-fields",
         .field = [](T& t) -> Field {
             return KeyField{&t.operation.key, KeyRule::Kind::fields};
         },
         .kind = Kind::list,
         .operation = true,
         .min = 1,
         .max = 32,
         .check = check_json_pointer,
         .alternative = "key",
         .fleet = true,
         .unset = "see `key-expression`",
         .about = "The key is made of these fields of the request, as JSON pointers: `[/orderId, /userId]`."},
        {.path = "key-generator",
         .field = [](T& t) -> Field {
             return KeyField{&t.operation.key, KeyRule::Kind::generator};
         },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_plain_name,
         .alternative = "key",
         .fleet = true,
         .unset = "see `key-expression`",
         .about = "The key comes from the KeyGenerator registered under this name."},
        {.path = "key-rule",
         .field = [](T& t) -> Field {
             return KeyField{&t.operation.key, KeyRule::Kind::automatic};
         },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"automatic", "all-parameters"},
         .alternative = "key",
         .fleet = true,
         .unset = "see `key-expression`",
         .about = "`automatic` chooses by priority even where code gives a rule; `all-parameters` hashes the whole "
                  "request without noise."},
        {.path = "accept-key-rule",
         .field = [](T& t) -> Field { return &t.operation.accept_key_rule; },
         .kind = Kind::text,
         .operation = true,
         .max = 64,
         .check = check_digest_start,
         .unset = "no change of the rule is accepted",
         .about = "The key rule of this digest may replace the one that the fleet agreed on: see `key-rule-guard`. The "
                  "refusal of a changed rule shows its digest. The first instance to start with it moves the fleet; "
                  "one with the old rule, started later, is refused. Keys of the old rule find no record any more: let "
                  "its retries run out first."},
        {.path = "key-required",
         .field = [](T& t) -> Field { return &t.operation.key_required; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "`false` lets a request without a key run unprotected, and counts it."},
        {.path = "strict-key-header",
         .field = [](T& t) -> Field { return &t.operation.strict_key_header; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "`true` accepts the key header only as a quoted Structured Field String, as the IETF draft asks; "
                  "`false` accepts bare text too."},
        {.path = "noise",
         .field = [](T& t) -> Field { return &t.operation.noise; },
         .kind = Kind::list,
         .operation = true,
         .max = 256,
         .check = check_json_pointer,
         .fleet = true,
         .about = "Further fields left out of the request hash, as exact JSON pointers; `*` stands for one level. An "
                  "operation's list is added to "
                  "the general one."},
        {.path = "default-noise",
         .field = [](T& t) -> Field { return &t.operation.default_noise; },
         .kind = Kind::flag,
         .operation = true,
         .fleet = true,
         .about =
             "`false` keeps the built-in noise fields (client timestamps, nonces, trace headers) in the request hash."},
        {.path = "scope",
         .field = [](T& t) -> Field { return choice(t.operation.scope); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"caller", "tenant", "public"},
         .fleet = true,
         .about = "Who shares a key. `caller`: tenant and principal, so that one caller never meets another's record; "
                  "`tenant`: all callers of a "
                  "tenant; `public`: everybody."},
        {.path = "caller-required",
         .field = [](T& t) -> Field { return &t.operation.caller_required; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "`true` refuses requests without a verified principal."},

        // ---- effect and lease
        {.path = "mode",
         .field = [](T& t) -> Field { return choice(t.operation.mode); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"execute", "atomic", "hooked", "mark"},
         .fleet = true,
         .about = "How effect and record meet. `execute`: separate commits; `atomic`: the record is finished inside "
                  "the handler's own transaction; "
                  "`hooked`: a transaction coordinator decides; `mark`: duplicates inside the retention are refused, "
                  "nothing is replayed."},
        {.path = "claim",
         .field = [](T& t) -> Field { return choice(t.operation.claim); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"before", "inside"},
         .fleet = true,
         .about = "`atomic` only. `before` commits the record first: duplicates see it at once, right for long "
                  "handlers. `inside` makes it a part "
                  "of the handler's transaction: one commit in all, right for short ones."},
        {.path = "lock-expire-millis",
         .field = [](T& t) -> Field { return &t.operation.lease; },
         .kind = Kind::millis,
         .operation = true,
         .min = 10,
         .max = 60'000,
         .reload = true,
         .about = "The lease: how long an attempt that stops renewing keeps its right to execute.",
         .too_low = "a pause or a slow database loses the lease of a live attempt, and its outcome becomes unknown or "
                    "is fenced off",
         .too_high = "duplicates wait that long after an instance died"},
        {.path = "lock-renew.enabled",
         .field = [](T& t) -> Field { return &t.operation.renew; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "Prolong the lease while the handler runs. Without it every handler must end within "
                  "`lock-expire-millis`."},
        {.path = "lock-renew.renew-interval-millis",
         .field = [](T& t) -> Field { return &t.operation.renew_interval; },
         .kind = Kind::millis,
         .operation = true,
         .min = 3,
         .max = 60'000,
         .reload = true,
         .about = "How often leases are renewed; never less often than every third of the lease.",
         .too_low = "needless writes",
         .too_high = "fewer tries before a lease ends; beyond a third of the lease it has no effect"},
        {.path = "lock-renew.max-expire-millis",
         .field = [](T& t) -> Field { return &t.operation.lease_max; },
         .kind = Kind::millis,
         .operation = true,
         .min = 10,
         .max = 3'600'000,
         .reload = true,
         .about = "The longest an attempt may live, renewals included.",
         .too_low = "long handlers lose their lease although they are well",
         .too_high = "a handler that hangs blocks its key that long"},

        // ---- retention
        {.path = "record-expire-hours",
         .field = [](T& t) -> Field { return &t.operation.retention; },
         .kind = Kind::hours,
         .operation = true,
         .min = 1,
         .max = year_hours,
         .alternative = "retention",
         .reload = true,
         .about = "How long a final record counts; after that the same key may run again. Make it longer than the "
                  "longest time after which a "
                  "client or broker may still repeat a request.",
         .too_low = "a late retry runs a second time",
         .too_high = "the table grows"},
        {.path = "record-expire-millis",
         .field = [](T& t) -> Field { return &t.operation.retention; },
         .kind = Kind::millis,
         .operation = true,
         .min = 20,
         .max = year_millis,
         .alternative = "retention",
         .reload = true,
         .unset = "`record-expire-hours`",
         .about = "The same in milliseconds, for windows of minutes.",
         .too_low = "a late retry runs a second time",
         .too_high = "the table grows"},
        {.path = "longest-retry-millis",
         .field = [](T& t) -> Field { return &t.operation.longest_retry; },
         .kind = Kind::millis,
         .operation = true,
         .min = 1,
         .max = year_millis,
         .reload = true,
         .unset = "not known, not checked",
         .about = "The longest time after a request at which its client or broker may still send it again: its retry "
                  "queue, its redelivery, an outage of all instances. A retention that isn't longer is refused at the "
                  "start.",
         .too_low = "a retry that comes later than said runs a second time, unnoticed",
         .too_high = "a retention that would do is refused"},
        {.path = "unknown-retention-hours",
         .field = [](T& t) -> Field { return &t.operation.unknown_retention; },
         .kind = Kind::hours,
         .operation = true,
         .min = 1,
         .max = year_hours,
         .alternative = "unknown-retention",
         .reload = true,
         .unset = "until settled",
         .about = "How long past its retention a record of unknown outcome still holds its key back. When it ends the "
                  "request may run again although "
                  "nobody knows whether it happened: at-least-once.",
         .too_low = "a request whose effect happened runs a second time",
         .too_high = "keys of unknown outcome stay blocked until somebody settles them"},
        {.path = "unknown-retention-millis",
         .field = [](T& t) -> Field { return &t.operation.unknown_retention; },
         .kind = Kind::millis,
         .operation = true,
         .min = 20,
         .max = year_millis,
         .alternative = "unknown-retention",
         .reload = true,
         .unset = "until settled",
         .about = "The same in milliseconds.",
         .too_low = "a request whose effect happened runs a second time",
         .too_high = "keys of unknown outcome stay blocked until somebody settles them"},

        // ---- what duplicates get
        {.path = "duplicate-handler",
         .field = [](T& t) -> Field { return choice(t.operation.on_duplicate); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"throw", "return", "wait"},
         .reload = true,
         .about = "What a duplicate gets while the first attempt is in progress, its outcome unknown, or the record "
                  "marked. `throw`: "
                  "RepeatSubmitException (HTTP 409); `return`: the value of the response producer; `wait`: wait for "
                  "the answer at most "
                  "`wait-millis`, then as `throw`."},
        {.path = "wait-millis",
         .field = [](T& t) -> Field { return &t.operation.wait; },
         .kind = Kind::millis,
         .operation = true,
         .min = 1,
         .max = 3'600'000,
         .reload = true,
         .about = "The longest wait of `duplicate-handler: wait`, and of a duplicate that meets an uncommitted `claim: "
                  "inside`.",
         .too_low = "duplicates are refused that could have had the answer",
         .too_high = "waiting duplicates hold memory and their callers' connections"},
        {.path = "on-finished",
         .field = [](T& t) -> Field { return choice(t.operation.on_finished); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"replay", "refuse"},
         .reload = true,
         .about = "What a duplicate of a finished request gets: the kept answer again, or a refusal."},
        {.path = "on-unknown",
         .field = [](T& t) -> Field { return choice(t.operation.on_unknown); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"hold", "ask", "retry"},
         .fleet = true,
         .about = "What a duplicate gets when nobody knows whether the effect happened. `hold`: \"outcome unknown\" "
                  "until it is settled; `ask`: the "
                  "outcome resolver looks in the business data; `retry`: run again, at-least-once."},
        {.path = "local-cache-millis",
         .field = [](T& t) -> Field { return &t.operation.local_cache; },
         .kind = Kind::millis,
         .operation = true,
         .min = 0,
         .max = 600'000,
         .reload = true,
         .about = "How long this process answers finished duplicates from its own memory. 0: not at all.",
         .too_low = "every finished duplicate asks the lock service or the store",
         .too_high = "an operator's purge takes full effect only after that time"},
        {.path = "response-producer",
         .field = [](T& t) -> Field { return &t.operation.response_producer.name; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_plain_name,
         .unset = "a default for each return type",
         .about = "The ResponseProducer, by its registered name, for `duplicate-handler: return`."},

        // ---- failures
        {.path = "unlisted",
         .field = [](T& t) -> Field { return choice(t.operation.unlisted); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"unknown", "fail"},
         .fleet = true,
         .about = "Status after an exception that no list names. `unknown` is the truth in `execute`; `fail` lets it "
                  "run again. In `atomic` the "
                  "default is `fail`: the transaction was rolled back."},
        {.path = "retryable-exceptions",
         .field = [](T& t) -> Field { return &t.operation.retryable_exceptions; },
         .kind = Kind::list,
         .operation = true,
         .max = 256,
         .check = check_exception_type,
         .reload = true,
         .about = "C++ types after which nothing has happened and the request may run again. Types that leave the "
                  "outcome open (time-outs, lost "
                  "connections) are refused here unless `on-unknown: retry`."},
        {.path = "final-exceptions",
         .field = [](T& t) -> Field { return &t.operation.final_exceptions; },
         .kind = Kind::list,
         .operation = true,
         .max = 256,
         .check = check_exception_type,
         .reload = true,
         .about = "C++ types that are the final answer: every duplicate gets the same failure again."},
        {.path = "unknown-exceptions",
         .field = [](T& t) -> Field { return &t.operation.unknown_exceptions; },
         .kind = Kind::list,
         .operation = true,
         .max = 256,
         .check = check_exception_type,
         .reload = true,
         .about = "C++ types after which nobody knows whether the effect happened."},
        {.path = "exception-classifier",
         .field = [](T& t) -> Field { return &t.operation.exception_classifier.name; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_plain_name,
         .unset = "the lists alone",
         .about = "The ExceptionClassifier, by its registered name; it is asked before the lists."},
        {.path = "outcome-resolver",
         .field = [](T& t) -> Field { return &t.operation.outcome_resolver.name; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_plain_name,
         .unset = "none",
         .about = "The OutcomeResolver, by its registered name; needed by `on-unknown: ask`."},
        {.path = "transaction-hooks",
         .field = [](T& t) -> Field { return &t.operation.transaction_hooks.name; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_plain_name,
         .unset = "none",
         .about = "The TransactionHooks, by their registered name; needed by `mode: hooked`."},
        {.path = "fail-open",
         .field = [](T& t) -> Field { return &t.operation.fail_open; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "Go on to the record table when the lock service is down or slow. The table still protects; only "
                  "speed is lost."},
        {.path = "on-store-failure",
         .field = [](T& t) -> Field { return choice(t.operation.on_store_failure); },
         .kind = Kind::choice,
         .operation = true,
         .choices = {"deny", "allow"},
         .reload = true,
         .about = "When the store is down: `deny` answers 503; `allow` runs the request unprotected and counts it."},
        {.path = "budget-millis",
         .field = [](T& t) -> Field { return &t.operation.budget; },
         .kind = Kind::millis,
         .operation = true,
         .min = 5,
         .max = 60'000,
         .reload = true,
         .about = "The longest a call may spend in Nebis itself; handler and waiting for another attempt not counted. "
                  "It must be shorter than the "
                  "lease; when not written it is at most half of it.",
         .too_low = "a short hiccup of the store becomes 503s",
         .too_high = "callers hang that long in an outage"},

        // ---- limits and snapshots
        {.path = "max-request-bytes",
         .field = [](T& t) -> Field { return &t.operation.max_request_bytes; },
         .kind = Kind::bytes,
         .operation = true,
         .min = 1,
         .max = 64 * mebibyte,
         .reload = true,
         .about = "Larger requests are refused (HTTP 413).",
         .too_low = "honest requests are refused",
         .too_high = "one request may cost that much memory and hashing time"},
        {.path = "max-response-bytes",
         .field = [](T& t) -> Field { return &t.operation.max_response_bytes; },
         .kind = Kind::bytes,
         .operation = true,
         .min = 0,
         .max = 16 * mebibyte,
         .reload = true,
         .about = "Larger answers are given once but not kept: duplicates learn that the request is done. `0` keeps no "
                  "answer at all, only that it was given.",
         .too_low = "duplicates get no answer to replay",
         .too_high = "large rows slow every write of the table"},
        {.path = "store-request",
         .field = [](T& t) -> Field { return &t.operation.store_request; },
         .kind = Kind::flag,
         .operation = true,
         .reload = true,
         .about = "Keep a redacted snapshot of the request in the record. It helps people who settle unknown outcomes, "
                  "and holds personal data."},
        {.path = "redact",
         .field = [](T& t) -> Field { return &t.operation.redact; },
         .kind = Kind::list,
         .operation = true,
         .max = 64,
         .check = check_json_pointer,
         .reload = true,
         .about =
             "Fields of a JSON body that the request's snapshot shows as `***`, as exact JSON pointers; `*` stands "
             "for one level: `[/card/number, /items/*/note]`. A body that isn't JSON is then not kept. An "
             "operation's list replaces the general one."},
        {.path = "redactor",
         .field = [](T& t) -> Field { return &t.operation.redactor.name; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 128,
         .check = check_plain_name,
         .unset = "none",
         .about = "The Redactor, by its registered name; it removes secrets from snapshots before they are stored."},

        // ---- where records live
        {.path = "datasource-name",
         .field = [](T& t) -> Field { return &t.operation.data_source; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 64,
         .check = check_plain_name,
         .fleet = true,
         .about = "The data source, of those under `datasources`, that holds the records."},
        {.path = "table-name",
         .field = [](T& t) -> Field { return &t.operation.table; },
         .kind = Kind::text,
         .operation = true,
         .min = 1,
         .max = 48,
         .check = check_table_name,
         .fleet = true,
         .about = "The record table."},
    };
}

}  // namespace nebis::config
