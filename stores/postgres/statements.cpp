// SPDX-License-Identifier: Apache-2.0
#include "statements.hpp"

#include "codec.hpp"

#include <array>
#include <string_view>

// How they keep from waiting: a key that has a row is never inserted (an INSERT would wait for whoever is changing that
// row), a key that has none is inserted under an advisory lock that is tried and never waited for, and a row is changed
// only after FOR UPDATE SKIP LOCKED. How they keep from deadlocks: all go through the batch in its own order, which is
// that of the keys (the sessions' plans are pinned to nested loops).
namespace nebis::postgres {
namespace {

struct Text {
    const char* name;
    std::string_view sql;
};

// In the order of `Sql`. @ is the quoted table, $table its bare name, $columns those of a record; $micros and $millis
// are the server's clock, not the transaction's.
constexpr std::array texts{
    Text{"open_transaction", "BEGIN"},
    Text{"commit", "COMMIT"},
    Text{"roll_back", "ROLLBACK"},
    Text{"timeouts",
         "SELECT set_config('statement_timeout', $1::int8::text, false), set_config('lock_timeout', $2::int8::text, "
         "false)"},
    Text{"now", "SELECT $millis"},
    // The clock is read after the advisory lock is had. The floor is that of the statement's start: a row deleted since
    // has a version below the clock, unless the clock stepped back in that very moment.
    Text{"insert_new",
         "INSERT INTO @ AS r (trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, "
         "expire_time, create_time, update_time, instance, request_body) "
         "SELECT n.trace_id, n.biz_type, n.status, greatest(n.micros, (SELECT value + 1 FROM idempotent_meta WHERE "
         "name = '$table/version_floor')), n.owner, 1, n.request_hash, n.lease_end, greatest(n.millis + n.retention, "
         "n.lease_end), n.millis, n.millis, n.instance, n.request_body "
         "FROM (SELECT t.*, CASE WHEN t.status = 5 THEN 0 ELSE t.millis + t.lease END AS lease_end "
         "FROM (SELECT c.*, c.micros / 1000 AS millis FROM (SELECT g.*, $micros AS micros "
         "FROM (SELECT g.* FROM unnest($1::bytea[], $2::text[], $3::int8[], $4::bytea[], $5::bytea[], $6::int8[], "
         "$7::int8[], $8::int8[], $9::text[], $10::bytea[]) AS g(trace_id, biz_type, status, owner, request_hash, "
         "lease, retention, not_after, instance, request_body) "
         "WHERE NOT EXISTS (SELECT FROM @ e WHERE e.trace_id = g.trace_id) OFFSET 0) g "
         "WHERE pg_try_advisory_xact_lock(hashtextextended('$table/' || encode(g.trace_id, 'hex'), 0)) OFFSET 0) c) t) "
         "n "
         "WHERE n.not_after = 0 OR n.millis <= n.not_after "
         "ON CONFLICT (trace_id) DO NOTHING RETURNING r.trace_id, r.version, r.update_time"},
    Text{"lock",
         "SELECT g.n, 0::int8, $columns FROM unnest($1::bytea[]) WITH ORDINALITY AS g(trace_id, n) "
         "JOIN @ r ON r.trace_id = g.trace_id FOR UPDATE OF r SKIP LOCKED"},
    Text{
        "take",
        "UPDATE @ r SET biz_type = g.biz_type, status = g.status, version = g.version, owner = g.owner, attempts = "
        "g.attempts, request_hash = g.request_hash, lease_expire_time = g.lease_end, expire_time = g.retention_end, "
        "create_time = CASE WHEN g.attempts = 1 THEN g.now ELSE r.create_time END, update_time = g.now, instance = "
        "g.instance, request_body = g.request_body, outcome_ref = '', response_body = NULL "
        "FROM unnest($1::bytea[], $2::text[], $3::int8[], $4::int8[], $5::bytea[], $6::int8[], $7::bytea[], "
        "$8::int8[], $9::int8[], $10::int8[], $11::text[], $12::bytea[], $13::int8[], $14::bytea[]) WITH ORDINALITY AS "
        "g(trace_id, biz_type, status, version, owner, attempts, request_hash, lease_end, retention_end, now, "
        "instance, "
        "request_body, old_version, old_owner, n) "
        "WHERE r.trace_id = g.trace_id AND r.version = g.old_version AND r.owner = g.old_owner RETURNING g.n"},
    Text{"lapse",
         "UPDATE @ r SET status = 4, update_time = g.now FROM unnest($1::bytea[], $2::int8[], $3::bytea[], $4::int8[]) "
         "WITH ORDINALITY AS g(trace_id, version, owner, now, n) WHERE r.trace_id = g.trace_id AND r.version = "
         "g.version "
         "AND r.owner = g.owner AND r.status = 0 RETURNING g.n"},
    Text{
        "finish",
        "WITH held AS MATERIALIZED (SELECT g.*, $millis AS now FROM unnest($1::bytea[], $2::int8[], $3::bytea[], "
        "$4::int8[], $5::int8[], $6::bytea[], $7::int8[], $8::bytea[], $9::text[]) WITH ORDINALITY AS g(trace_id, "
        "version, owner, froms, status, response, retention, new_owner, outcome_ref, n) JOIN @ r ON r.trace_id = "
        "g.trace_id WHERE r.version = g.version AND r.owner = g.owner AND r.status BETWEEN 0 AND 5 AND (g.froms >> "
        "r.status::int4) & 1 = 1 FOR UPDATE OF r SKIP LOCKED) "
        "UPDATE @ r SET status = g.status, response_body = g.response, lease_expire_time = CASE WHEN g.status = 0 THEN "
        "r.lease_expire_time ELSE g.now END, expire_time = CASE WHEN g.status = 0 THEN greatest(g.now + g.retention, "
        "r.lease_expire_time) ELSE g.now + g.retention END, update_time = g.now, owner = g.new_owner, outcome_ref = "
        "CASE WHEN g.outcome_ref = '' THEN r.outcome_ref ELSE g.outcome_ref END "
        "FROM held g WHERE r.trace_id = g.trace_id RETURNING g.n, g.now"},
    // For the rows that somebody had locked: one at a time, waiting for at most the lock time-out.
    Text{
        "finish_waiting",
        "UPDATE @ r SET status = g.status, response_body = g.response, lease_expire_time = CASE WHEN g.status = 0 THEN "
        "r.lease_expire_time ELSE $millis END, expire_time = CASE WHEN g.status = 0 THEN greatest($millis + "
        "g.retention, r.lease_expire_time) ELSE $millis + g.retention END, update_time = $millis, owner = g.new_owner, "
        "outcome_ref = CASE WHEN g.outcome_ref = '' THEN r.outcome_ref ELSE g.outcome_ref END "
        "FROM unnest($1::bytea[], $2::int8[], $3::bytea[], $4::int8[], $5::int8[], $6::bytea[], $7::int8[], "
        "$8::bytea[], $9::text[]) WITH ORDINALITY AS g(trace_id, version, owner, froms, status, response, retention, "
        "new_owner, outcome_ref, n) WHERE r.trace_id = g.trace_id AND r.version = g.version AND r.owner = g.owner AND "
        "r.status BETWEEN 0 AND 5 AND (g.froms >> r.status::int4) & 1 = 1 RETURNING g.n, r.update_time"},
    Text{"renew",
         "WITH held AS MATERIALIZED (SELECT g.*, $millis AS now FROM unnest($1::bytea[], $2::int8[], $3::bytea[], "
         "$4::int8[], $5::int8[]) WITH ORDINALITY AS g(trace_id, version, owner, lease, ask, n) JOIN @ r ON r.trace_id "
         "= "
         "g.trace_id WHERE r.version = g.version AND r.owner = g.owner AND CASE WHEN g.ask = 0 THEN r.status = 0 ELSE "
         "r.status = 4 AND r.lease_expire_time <= $millis END FOR UPDATE OF r SKIP LOCKED) "
         "UPDATE @ r SET lease_expire_time = g.now + g.lease, expire_time = greatest(r.expire_time, g.now + g.lease), "
         "update_time = g.now FROM held g WHERE r.trace_id = g.trace_id RETURNING g.n, g.now"},
    // Of those that renew left: a row that is still ours was locked, so it is alive.
    Text{"still_mine",
         "SELECT g.n, $millis, r.trace_id IS NOT NULL FROM unnest($1::bytea[], $2::int8[], $3::bytea[], $4::int8[], "
         "$5::int8[]) WITH ORDINALITY AS g(trace_id, version, owner, lease, ask, n) LEFT JOIN @ r ON r.trace_id = "
         "g.trace_id AND r.version = g.version AND r.owner = g.owner AND CASE WHEN g.ask = 0 THEN r.status = 0 ELSE "
         "r.status = 4 AND r.lease_expire_time <= $millis END"},
    Text{"find",
         "SELECT g.n, $millis, $columns FROM unnest($1::bytea[]) WITH ORDINALITY AS g(trace_id, n) LEFT JOIN @ r ON "
         "r.trace_id = g.trace_id"},
    // A lease of 0 means "until the retention ends" (C13). The clock stands in a sub-select, or no index could be used.
    Text{"recover",
         "WITH clock AS MATERIALIZED (SELECT $millis AS now), due AS MATERIALIZED (SELECT r.trace_id FROM @ r WHERE "
         "r.status = 0 AND r.lease_expire_time <= (SELECT now FROM clock) AND (r.lease_expire_time > 0 OR "
         "(r.expire_time "
         "> 0 AND r.expire_time <= (SELECT now FROM clock))) AND r.update_time <= (SELECT now FROM clock) - $1::int8 "
         "AND "
         "($2::text = '' OR r.instance = $2::text) ORDER BY r.lease_expire_time LIMIT $3::int8 FOR UPDATE OF r SKIP "
         "LOCKED) UPDATE @ r SET status = 4, update_time = (SELECT now FROM clock) FROM due d WHERE r.trace_id = "
         "d.trace_id RETURNING 0::int8, r.update_time, $columns"},
    // All of them, those that `recover` moves, and the end of the last lease.
    Text{"leases",
         "WITH clock AS MATERIALIZED (SELECT $millis AS now) SELECT count(*), count(*) FILTER (WHERE "
         "r.lease_expire_time <= c.now AND (r.lease_expire_time > 0 OR (r.expire_time > 0 AND r.expire_time <= "
         "c.now))), coalesce(max(CASE WHEN r.lease_expire_time > 0 THEN r.lease_expire_time ELSE r.expire_time END - "
         "c.now), 0)::int8 FROM @ r CROSS JOIN clock c WHERE r.status = 0"},
    Text{
        "clean",
        "WITH clock AS MATERIALIZED (SELECT $millis AS now), due AS MATERIALIZED (SELECT r.trace_id FROM @ r WHERE "
        "r.status <> 0 AND r.status <> 4 AND r.status BETWEEN 0 AND 5 AND r.expire_time <= (SELECT now FROM clock) "
        "ORDER BY r.expire_time LIMIT $1::int8 FOR UPDATE OF r SKIP LOCKED), gone AS (DELETE FROM @ r USING due d "
        "WHERE "
        "r.trace_id = d.trace_id RETURNING r.version), floor AS (INSERT INTO idempotent_meta AS m (name, value) SELECT "
        "'$table/version_floor', least(max(version), 4611686018427387904) FROM gone HAVING count(*) > 0 ON CONFLICT "
        "(name) DO UPDATE SET value = greatest(m.value, excluded.value)) SELECT count(*) FROM gone"},
    Text{
        "purge",
        "WITH gone AS (DELETE FROM @ r WHERE r.trace_id = $1::bytea AND r.version = $2::int8 RETURNING r.version), "
        "floor "
        "AS (INSERT INTO idempotent_meta AS m (name, value) SELECT '$table/version_floor', least(max(version), "
        "4611686018427387904) FROM gone HAVING count(*) > 0 ON CONFLICT (name) DO UPDATE SET value = greatest(m.value, "
        "excluded.value)) SELECT count(*) FROM gone"},
    Text{"page",
         "SELECT 0::int8, $millis, $columns FROM @ r WHERE r.trace_id > $1::bytea ORDER BY r.trace_id LIMIT $2::int8"},
    Text{"rewrite",
         "WITH held AS MATERIALIZED (SELECT g.* FROM unnest($1::bytea[], $2::int8[], $3::bytea[], $4::int8[], "
         "$5::int8[], $6::bytea[], $7::bytea[]) WITH ORDINALITY AS g(trace_id, version, owner, status, update_time, "
         "request, response, n) JOIN @ r ON r.trace_id = g.trace_id WHERE r.version = g.version AND r.owner = g.owner "
         "AND r.status = g.status AND r.update_time = g.update_time FOR UPDATE OF r SKIP LOCKED) "
         "UPDATE @ r SET request_body = g.request, response_body = g.response FROM held g WHERE r.trace_id = "
         "g.trace_id RETURNING g.n"},
    Text{"read_rule", "SELECT digest FROM idempotent_key_rule WHERE operation = $1::text"},
    Text{"keep_rule",
         "INSERT INTO idempotent_key_rule AS k (operation, digest, update_time) VALUES ($1::text, $2::bytea, $millis) "
         "ON "
         "CONFLICT (operation) DO UPDATE SET digest = excluded.digest, update_time = excluded.update_time WHERE "
         "$3::int8 "
         "= 1"},
    Text{"open_atomic", "BEGIN READ WRITE"},
    // Twice the same where the end of the transaction allows it once: a COMMIT of the body's own is refused by the
    // server, which rolls back. What the body writes after that, or after a ROLLBACK, is refused too: the session is
    // read-only outside of `open_atomic`.
    Text{"guard", "INSERT INTO pg_temp.nebis_commit_guard VALUES (1), (1) RETURNING $transaction"},
    Text{"unguard", "DELETE FROM pg_temp.nebis_commit_guard RETURNING $transaction"},
    Text{"body_timeouts",
         "SELECT set_config('statement_timeout', $1::int8::text, true), set_config('lock_timeout', '0', true)"},
    // The lock that `insert_new` tries: who has it may insert without waiting, and whose transaction had it has ended.
    // The condition comes first, and bounds the wait, and the one for whoever inserts without that lock.
    Text{"wait_for_key",
         "SELECT pg_advisory_xact_lock(hashtextextended('$table/' || encode($1::bytea, 'hex'), 0)) WHERE "
         "set_config('lock_timeout', $2::int8::text, true) IS NOT NULL"},
    Text{"lock_mine",
         "SELECT 1 FROM @ r WHERE r.trace_id = $1::bytea AND r.version = $2::int8 AND r.owner = $3::bytea AND r.status "
         "IN (0, 4) FOR UPDATE"},
    Text{"save_body", "SAVEPOINT nebis_body"},
    Text{"undo_body", "ROLLBACK TO SAVEPOINT nebis_body"},
    Text{"release_body", "RELEASE SAVEPOINT nebis_body"},
};

void replace(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
}

}  // namespace

const char* name_of(Sql sql) noexcept { return texts.at(static_cast<std::size_t>(sql)).name; }

std::string text_of(Sql sql, const std::string& table) {
    std::string text(texts.at(static_cast<std::size_t>(sql)).sql);
    replace(text, "@", '"' + table + '"');
    replace(text, "$table", table);
    replace(text, "$columns", record_columns);
    replace(text, "$transaction", "coalesce(pg_current_xact_id_if_assigned()::text, '')");
    replace(text, "$micros", "(extract(epoch FROM clock_timestamp()) * 1000000)::int8");
    replace(text, "$millis", "floor(extract(epoch FROM clock_timestamp()) * 1000)::int8");
    return text;
}

std::vector<std::pair<const char*, std::string>> statements_of(const std::string& table, Use use) {
    const auto count = use == Use::atomic ? texts.size() : static_cast<std::size_t>(Sql::open_atomic);
    std::vector<std::pair<const char*, std::string>> all;
    for (std::size_t i = 0; i < count; ++i) all.emplace_back(texts.at(i).name, text_of(static_cast<Sql>(i), table));
    return all;
}

// The plans that keep batches from deadlocks are not for the business's own statements.
const char* const atomic_settings =
    "RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_seqscan; RESET plan_cache_mode; RESET jit; RESET "
    "TimeZone; CREATE TEMPORARY TABLE nebis_commit_guard (one integer CONSTRAINT "
    "nebis_the_body_must_not_end_the_transaction UNIQUE DEFERRABLE INITIALLY DEFERRED) ON COMMIT DELETE ROWS; SET "
    "default_transaction_read_only = on";

}  // namespace nebis::postgres
