// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include "driver/leases.hpp"
#include "errors.hpp"
#include "runtime/snapshot.hpp"

#include <array>
#include <cstring>
#include <limits>

namespace nebis::sqlite {

using runtime::BeginVerdict;
using runtime::RowHead;
using runtime::StoreTime;

namespace {

// Order of the columns in `select_`.
enum Column : int {
    operation_,
    status_,
    version_,
    owner_,
    attempts_,
    request_hash_,
    lease_expire_time_,
    expire_time_,
    create_time_,
    update_time_,
    instance_,
    outcome_ref_,
    request_body_,
    response_body_,
};

constexpr std::size_t hash_bytes = 33;
/// Requests in flight are fewer, as a rule; one whose place is forgotten is looked for.
constexpr std::size_t places_kept = 1024;
using StoredHash = std::array<unsigned char, hash_bytes>;
/// Versions are microseconds of the clock: what lies beyond was not written by us, and adding to it could overflow.
constexpr std::int64_t greatest_version = std::int64_t{1} << 62;

StoredHash stored(const RequestHash& hash) {
    StoredHash bytes;
    bytes[0] = hash.scheme;
    std::memcpy(bytes.data() + 1, hash.digest.data(), hash.digest.size());
    return bytes;
}

std::int64_t signed_version(std::uint64_t version) { return static_cast<std::int64_t>(version); }

std::string_view bytes_of(const Owner& owner) {
    return {reinterpret_cast<const char*>(owner.bytes.data()), owner.bytes.size()};
}

BeginOutcome acquired(const RowHead& row, const StoreTime& now) {
    BeginOutcome out;
    out.kind = BeginOutcome::Kind::acquired;
    out.now = now.millis;
    out.version = row.version;
    out.attempts = row.attempts;
    out.owner = row.owner;
    return out;
}

std::string with_table(std::string_view sql, std::string_view table) {
    std::string out;
    for (const char c : sql) c == '@' ? out.append(table) : out.append(1, c);
    return out;
}

}  // namespace

Result<void> Rows::prepare(sqlite3* handle, const std::string& table, Part part) {
    handle_ = handle;
    floor_name_ = table + "/version_floor";
    const struct {
        Statement& statement;
        std::string_view sql;
    } all[] = {
        {insert_,
         "INSERT INTO @ (trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, "
         "expire_time, create_time,"
         " update_time, instance, request_body) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?9, ?10, ?11) ON "
         "CONFLICT (trace_id) DO NOTHING"},
        {insert_finished_,
         "INSERT INTO @ (trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, "
         "expire_time, create_time,"
         " update_time, instance, request_body, response_body) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?7, ?10, "
         "?11, ?12) ON CONFLICT (trace_id) DO NOTHING"},
        {select_,
         "SELECT biz_type, status, version, owner, attempts, request_hash, lease_expire_time, expire_time, "
         "create_time, update_time,"
         " instance, outcome_ref, request_body, response_body FROM @ WHERE trace_id = ?1"},
        {take_,
         "UPDATE @ SET biz_type = ?2, status = ?3, version = ?4, owner = ?5, attempts = ?6, request_hash = ?7, "
         "lease_expire_time = ?8,"
         " expire_time = ?9, create_time = iif(?6 = 1, ?10, create_time), update_time = ?10, instance = ?11, "
         "request_body = ?12,"
         " outcome_ref = '', response_body = NULL WHERE trace_id = ?1"},
        {lapse_, "UPDATE @ SET status = 4, update_time = ?2 WHERE trace_id = ?1"},
        // A status that is no number is greater than any: it never passes for the one its text would turn into.
        {finish_,
         "UPDATE @ SET status = ?5, response_body = ?6, lease_expire_time = ?7, expire_time = ?8, update_time = ?7"
         " WHERE trace_id = ?1 AND version = ?2 AND owner = ?3 AND status <= 5 AND (?4 >> status) & 1"},
        {finish_there_,
         "UPDATE @ SET status = ?5, response_body = ?6, lease_expire_time = ?7, expire_time = ?8, update_time = ?7"
         " WHERE rowid = ?9 AND trace_id = ?1 AND version = ?2 AND owner = ?3 AND status <= 5 AND (?4 >> status) & 1"},
        {finish_more_,
         "UPDATE @ SET status = ?5, response_body = ?6, lease_expire_time = iif(?5 = 0, lease_expire_time, ?7),"
         " expire_time = iif(?5 = 0, max(?8, lease_expire_time), ?8), update_time = ?7, owner = ?9,"
         " outcome_ref = iif(?10 = '', outcome_ref, ?10)"
         " WHERE trace_id = ?1 AND version = ?2 AND owner = ?3 AND status <= 5 AND (?4 >> status) & 1"},
        {renew_,
         "UPDATE @ SET lease_expire_time = ?4, expire_time = max(expire_time, ?4), update_time = ?5"
         " WHERE trace_id = ?1 AND version = ?2 AND owner = ?3 AND status = 0"},
        {ask_,
         "UPDATE @ SET lease_expire_time = ?4, expire_time = max(expire_time, ?4), update_time = ?5"
         " WHERE trace_id = ?1 AND version = ?2 AND owner = ?3 AND status = 4 AND lease_expire_time <= ?5"},
        {holds_, "SELECT 1 FROM @ WHERE trace_id = ?1 AND version = ?2 AND owner = ?3 AND (status = 0 OR status = 4)"},
        // A lease of 0 means "until the retention ends" (C13).
        {find_overdue_,
         "SELECT trace_id, lease_expire_time - update_time FROM @ WHERE status = 0 AND lease_expire_time <= ?1"
         " AND (lease_expire_time > 0 OR (expire_time > 0 AND expire_time <= ?1)) AND update_time <= ?2 AND (?3 = '' "
         "OR instance = ?3)"
         " ORDER BY lease_expire_time LIMIT ?4"},
        {count_leases_,
         "SELECT count(*), count(CASE WHEN lease_expire_time <= ?1 AND (lease_expire_time > 0 OR (expire_time > 0 AND "
         "expire_time <= ?1)) THEN 1 END), coalesce(max(CASE WHEN lease_expire_time > 0 THEN lease_expire_time ELSE "
         "expire_time END) - ?1, 0) FROM @ WHERE status = 0"},
        {find_expired_,
         "SELECT rowid, version FROM @ WHERE status != 0 AND status != 4 AND status BETWEEN 0 AND 5 AND expire_time <= "
         "?1 ORDER BY expire_time LIMIT ?2"},
        {remove_, "DELETE FROM @ WHERE rowid = ?1"},
        {purge_, "DELETE FROM @ WHERE trace_id = ?1 AND version = ?2"},
        {list_, "SELECT trace_id FROM @ WHERE trace_id > ?1 ORDER BY trace_id LIMIT ?2"},
        {rewrite_,
         "UPDATE @ SET request_body = ?6, response_body = ?7 WHERE trace_id = ?1 AND version = ?2 AND owner = ?3"
         " AND status = ?4 AND update_time = ?5"},
        {read_floor_, "SELECT value FROM idempotent_meta WHERE name = ?1"},
        {raise_floor_,
         "INSERT INTO idempotent_meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = "
         "max(value, excluded.value)"},
        {read_rule_, "SELECT digest FROM idempotent_key_rule WHERE operation = ?1"},
        {keep_rule_,
         "INSERT INTO idempotent_key_rule (operation, digest, update_time) VALUES (?1, ?2, ?3)"
         " ON CONFLICT (operation) DO UPDATE SET digest = excluded.digest, update_time = excluded.update_time WHERE "
         "?4"},
    };
    for (const auto& [statement, sql] : all) {
        if (part == Part::finish && &statement != &finish_ && &statement != &select_) continue;
        if (code_ = statement.prepare(handle, with_table(sql, table)); code_ != SQLITE_OK)
            return error_of(handle, "use the record table");
    }
    if (part == Part::all) places_.resize(places_kept);
    return {};
}

Rows::Place& Rows::place_of(const Owner& owner) {
    std::uint64_t number = 0;
    std::memcpy(&number, owner.bytes.data(), sizeof number);
    return places_[number % places_.size()];
}

Error Rows::failed(std::string_view doing) {
    code_ = sqlite3_extended_errcode(handle_);
    return error_of(handle_, doing);
}

Error Rows::damaged(std::string_view trace_id, std::string_view what) {
    code_ = SQLITE_OK;
    return Error(ErrorKind::corrupt, "the record of " + shown(trace_id) + " can't be trusted: " + std::string(what), {},
                 "it was altered from outside or written by a newer version; nothing runs for this key until the row "
                 "is mended or purged")
        .with_code("record-damaged");
}

int Rows::seek(std::string_view trace_id) {
    select_.bind_blob(1, trace_id);
    return select_.step();
}

Result<RowHead> Rows::head(std::string_view trace_id) {
    RowHead row;
    const std::int64_t status = select_.number(status_);
    if (!select_.is_number(status_) || status < 0 || status > static_cast<int>(RecordStatus::marked))
        return damaged(trace_id, "unknown status");
    row.status = static_cast<RecordStatus>(status);
    const std::int64_t version = select_.number(version_);
    if (version < 1 || version > greatest_version) return damaged(trace_id, "impossible version");
    row.version = static_cast<std::uint64_t>(version);
    const std::string_view owner = select_.bytes(owner_);
    if (owner.size() != row.owner.bytes.size()) return damaged(trace_id, "no owner");
    std::memcpy(row.owner.bytes.data(), owner.data(), owner.size());
    const std::int64_t attempts = select_.number(attempts_);
    if (attempts < 1 || attempts >= std::numeric_limits<std::uint32_t>::max())
        return damaged(trace_id, "impossible number of attempts");
    row.attempts = static_cast<std::uint32_t>(attempts);
    const std::string_view hash = select_.bytes(request_hash_);
    if (hash.size() != hash_bytes) return damaged(trace_id, "no request hash");
    row.request_hash.scheme = static_cast<unsigned char>(hash[0]);
    std::memcpy(row.request_hash.digest.data(), hash.data() + 1, row.request_hash.digest.size());
    row.lease_expire_time = select_.number(lease_expire_time_);
    row.expire_time = select_.number(expire_time_);
    row.update_time = select_.number(update_time_);
    return row;
}

Result<Record> Rows::record(std::string_view trace_id, StoreMillis now) {
    auto row = head(trace_id);
    if (!row) return std::move(row).error();
    Record record;
    record.trace_id = trace_id;
    record.operation = select_.bytes(operation_);
    record.status = row->status;
    record.version = row->version;
    record.owner = row->owner;
    record.attempts = row->attempts;
    record.request_hash = row->request_hash;
    record.lease_expire_time = row->lease_expire_time;
    record.expire_time = row->expire_time;
    record.create_time = select_.number(create_time_);
    record.update_time = row->update_time;
    record.instance = select_.bytes(instance_);
    record.outcome_ref = select_.bytes(outcome_ref_);
    record.request_body = select_.bytes(request_body_);
    if (!select_.is_null(response_body_)) {
        auto response = runtime::decode_response(select_.bytes(response_body_));
        if (!response) return damaged(trace_id, response.error().detail());
        record.response = std::move(*response);
    }
    record.now = now;
    return record;
}

Result<void> Rows::read_floor() {
    const Resetting reset(read_floor_);
    read_floor_.bind_text(1, floor_name_);
    floor_ = 0;
    switch (read_floor_.step()) {
        case SQLITE_ROW: floor_ = static_cast<std::uint64_t>(read_floor_.number(0)); return {};
        case SQLITE_DONE: return {};
        default: return failed("read the version floor");
    }
}

int Rows::raise_floor(std::uint64_t version) {
    const Resetting reset(raise_floor_);
    raise_floor_.bind_text(1, floor_name_);
    raise_floor_.bind(2, signed_version(version));
    return raise_floor_.step();
}

void Rows::bind_new_row(Statement& statement, const BeginRequest& request, std::span<const unsigned char> hash,
                        const RowHead& row, StoreMillis create_time) {
    statement.bind_blob(1, request.trace_id);
    statement.bind_text(2, request.operation);
    statement.bind(3, static_cast<int>(row.status));
    statement.bind(4, signed_version(row.version));
    statement.bind_blob(5, row.owner.bytes);
    statement.bind_blob(6, hash);
    statement.bind(7, row.lease_expire_time);
    statement.bind(8, row.expire_time);
    statement.bind(9, create_time);
    statement.bind_text(10, request.instance);
    statement.bind_blob(11, request.request_snapshot);
}

Result<BeginOutcome> Rows::begin(const BeginRequest& request, const StoreTime& now, const Stalls& stalls) {
    BeginOutcome out;
    out.now = now.millis;
    if (runtime::late(request, now.millis)) return out;

    const StoredHash hash = stored(request.request_hash);

    // Most keys are new: try that first; the conflict that counts is the one with our own index.
    const RowHead row = runtime::begun_row(nullptr, BeginVerdict::counts_as_new, request, floor_, now);
    {
        const Resetting reset(insert_);
        bind_new_row(insert_, request, hash, row, now.millis);
        if (insert_.step() != SQLITE_DONE) return failed("begin a record");
        if (sqlite3_changes(handle_) == 1) {
            place_of(row.owner) = {row.owner, sqlite3_last_insert_rowid(handle_)};
            return acquired(row, now);
        }
    }
    auto outcome = begin_over(request, now, stalls);
    if (!outcome) return std::move(outcome).error();
    if (!*outcome) return damaged(request.trace_id, "it is there and isn't: the index is damaged");
    return *std::move(*outcome);
}

Result<BeginOutcome> Rows::claim(const BeginRequest& request, const StoreTime& now, const Stalls& stalls,
                                 bool& unwritten) {
    unwritten = false;
    BeginOutcome out;
    out.now = now.millis;
    if (runtime::late(request, now.millis)) return out;
    auto outcome = begin_over(request, now, stalls);
    if (!outcome) return std::move(outcome).error();
    if (*outcome) return *std::move(*outcome);
    unwritten = true;
    return acquired(runtime::begun_row(nullptr, BeginVerdict::counts_as_new, request, floor_, now), now);
}

Result<std::optional<BeginOutcome>> Rows::begin_over(const BeginRequest& request, const StoreTime& now,
                                                     const Stalls& stalls) {
    BeginOutcome out;
    RowHead found;
    BeginVerdict verdict{};
    {
        const Resetting reset(select_);
        const int code = seek(request.trace_id);
        if (code == SQLITE_DONE) return std::optional<BeginOutcome>();
        if (code != SQLITE_ROW) return failed("read a record");
        auto read = head(request.trace_id);
        if (!read) return std::move(read).error();
        found = *read;
        verdict = runtime::judge_begin(found, request, now.millis);
        std::int64_t grace = 0;
        if (found.status == RecordStatus::processing && verdict != BeginVerdict::mismatch &&
            verdict != BeginVerdict::other_scheme && verdict != BeginVerdict::in_progress)
            grace = stalls.grace_left(found.lease_expire_time - found.update_time);
        if (grace > 0) verdict = BeginVerdict::in_progress;
        if (!runtime::acquires(verdict)) {
            out = runtime::refused_begin(found, verdict, now.millis);
            if (grace > 0) out.remaining_millis = grace;
            if (out.kind != BeginOutcome::Kind::in_progress && out.kind != BeginOutcome::Kind::mismatch) {
                auto whole = record(request.trace_id, now.millis);
                if (!whole) return std::move(whole).error();
                out.record = std::move(*whole);
            }
        }
    }
    if (verdict == BeginVerdict::lapse) {
        const Resetting reset(lapse_);
        lapse_.bind_blob(1, request.trace_id);
        lapse_.bind(2, now.millis);
        if (lapse_.step() != SQLITE_DONE) return failed("end an abandoned attempt");
        out.record->status = RecordStatus::unknown;
        out.record->update_time = now.millis;
    }
    if (!runtime::acquires(verdict)) return std::optional(std::move(out));

    const RowHead row = runtime::begun_row(&found, verdict, request, floor_, now);
    const StoredHash hash = stored(request.request_hash);
    const Resetting reset(take_);
    take_.bind_blob(1, request.trace_id);
    take_.bind_text(2, request.operation);
    take_.bind(3, static_cast<int>(row.status));
    take_.bind(4, signed_version(row.version));
    take_.bind_blob(5, row.owner.bytes);
    take_.bind(6, row.attempts);
    take_.bind_blob(7, hash);
    take_.bind(8, row.lease_expire_time);
    take_.bind(9, row.expire_time);
    take_.bind(10, now.millis);
    take_.bind_text(11, request.instance);
    take_.bind_blob(12, request.request_snapshot);
    if (take_.step() != SQLITE_DONE) return failed("take a record over");
    out = acquired(row, now);
    out.took_over = verdict == BeginVerdict::take_over;
    return std::optional(std::move(out));
}

Result<bool> Rows::insert_finished(const BeginRequest& begin, const BeginOutcome& begun, const FinishRequest& finish,
                                   const StoreTime& now) {
    const std::string response = finish.response ? runtime::encode_response(*finish.response) : std::string();
    RowHead row;
    row.status = finish.status;
    row.version = begun.version;
    row.owner = begun.owner;
    row.lease_expire_time = now.millis;
    row.expire_time = now.millis + finish.retention_millis;
    const StoredHash hash = stored(begin.request_hash);
    const Resetting reset(insert_finished_);
    bind_new_row(insert_finished_, begin, hash, row, begun.now);
    if (finish.response)
        insert_finished_.bind_blob(12, response);
    else
        insert_finished_.bind_null(12);
    if (insert_finished_.step() != SQLITE_DONE) return failed("write a record");
    return sqlite3_changes(handle_) == 1;
}

Result<std::optional<BeginOutcome>> Rows::peek(const BeginRequest& request, StoreMillis now, bool processing_counts) {
    BeginOutcome out;
    out.now = now;
    if (runtime::late(request, now)) return std::optional(out);
    const Resetting reset(select_);
    const int code = seek(request.trace_id);
    if (code == SQLITE_DONE) return std::optional<BeginOutcome>();
    if (code != SQLITE_ROW) return failed("read a record");
    auto row = head(request.trace_id);
    if (!row) return std::move(row).error();
    BeginVerdict verdict = runtime::judge_begin(*row, request, now);
    const bool would_write = runtime::acquires(verdict) || verdict == BeginVerdict::lapse;
    if (would_write) {
        if (!processing_counts || row->status != RecordStatus::processing) return std::optional<BeginOutcome>();
        verdict = BeginVerdict::in_progress;
    }
    out = runtime::refused_begin(*row, verdict, now);
    if (out.kind != BeginOutcome::Kind::in_progress && out.kind != BeginOutcome::Kind::mismatch) {
        auto whole = record(request.trace_id, now);
        if (!whole) return std::move(whole).error();
        out.record = std::move(*whole);
    }
    return std::optional(std::move(out));
}

Result<FinishOutcome> Rows::finish(const FinishRequest& request, const StoreTime& now) {
    FinishOutcome out;
    out.now = now.millis;
    const std::string response = request.response ? runtime::encode_response(*request.response) : std::string();
    const auto bit = [](RecordStatus status, bool set) {
        return set ? std::int64_t{1} << static_cast<int>(status) : 0;
    };
    const auto update = [&](Statement& statement, const auto& bind_more) {
        const Resetting reset(statement);
        statement.bind_blob(1, request.trace_id);
        statement.bind(2, signed_version(request.version));
        statement.bind_blob(3, request.owner.bytes);
        statement.bind(4, bit(RecordStatus::processing, request.from_processing) |
                              bit(RecordStatus::unknown, request.from_unknown) |
                              bit(RecordStatus::marked, request.from_marked));
        statement.bind(5, static_cast<int>(request.status));
        if (request.response)
            statement.bind_blob(6, response);
        else
            statement.bind_null(6);
        statement.bind(7, now.millis);
        statement.bind(8, now.millis + request.retention_millis);
        bind_more(statement);
        if (statement.step() != SQLITE_DONE) return false;
        out.applied = sqlite3_changes(handle_) == 1;
        return true;
    };
    // The usual end changes the usual columns; fewer of them and no functions are worth a tenth of a whole begin and
    // finish.
    if (request.status == RecordStatus::processing || request.new_owner || !request.outcome_ref.empty()) {
        if (!update(finish_more_, [&](Statement& statement) {
                statement.bind_blob(9, request.new_owner ? request.new_owner->bytes : request.owner.bytes);
                statement.bind_text(10, request.outcome_ref);
            }))
            return failed("finish a record");
    } else {
        // A row begun through this connection most likely still lies where it was put: no search in the index.
        if (const Place* const place = places_.empty() ? nullptr : &place_of(request.owner);
            place && place->owner == request.owner &&
            !update(finish_there_, [&](Statement& statement) { statement.bind(9, place->rowid); }))
            return failed("finish a record");
        if (!out.applied && !update(finish_, [](Statement&) {})) return failed("finish a record");
    }
    if (out.applied) return out;
    auto current = find(request.trace_id, now.millis);
    if (!current) return std::move(current).error();
    out.current = std::move(current->record);
    return out;
}

Result<RenewOutcome> Rows::renew(const RenewRequest& request, const StoreTime& now) {
    Statement& statement = request.ask ? ask_ : renew_;
    const Resetting reset(statement);
    statement.bind_blob(1, request.trace_id);
    statement.bind(2, signed_version(request.version));
    statement.bind_blob(3, request.owner.bytes);
    statement.bind(4, now.millis + request.lease_millis);
    statement.bind(5, now.millis);
    if (statement.step() != SQLITE_DONE) return failed("renew a lease");
    RenewOutcome out;
    out.now = now.millis;
    if (sqlite3_changes(handle_) == 1) out.kind = RenewOutcome::Kind::renewed;
    return out;
}

Result<FindOutcome> Rows::find(std::string_view trace_id, StoreMillis now) {
    FindOutcome out;
    out.now = now;
    const Resetting reset(select_);
    switch (seek(trace_id)) {
        case SQLITE_DONE: return out;
        case SQLITE_ROW: break;
        default: return failed("read a record");
    }
    auto found = record(trace_id, now);
    if (!found) return std::move(found).error();
    out.record = std::move(*found);
    return out;
}

Result<bool> Rows::holds(std::string_view trace_id, std::uint64_t version, const Owner& owner) {
    const Resetting reset(holds_);
    holds_.bind_blob(1, trace_id);
    holds_.bind(2, signed_version(version));
    holds_.bind_blob(3, bytes_of(owner));
    switch (holds_.step()) {
        case SQLITE_ROW: return true;
        case SQLITE_DONE: return false;
        default: return failed("look at a record");
    }
}

Result<bool> Rows::anything_to_recover(const RecoverRequest& request, StoreMillis now) {
    const Resetting reset(find_overdue_);
    find_overdue_.bind(1, now);
    find_overdue_.bind(2, now - request.min_age_millis);
    find_overdue_.bind_text(3, request.own_instance);
    find_overdue_.bind(4, 1);
    switch (find_overdue_.step()) {
        case SQLITE_ROW: return true;
        case SQLITE_DONE: return false;
        default: return failed("look for abandoned attempts");
    }
}

Result<Leases> Rows::leases(StoreMillis now) {
    const Resetting reset(count_leases_);
    count_leases_.bind(1, now);
    if (count_leases_.step() != SQLITE_ROW) return failed("count the attempts that go on");
    return driver::leases_of(count_leases_.number(0), count_leases_.number(1), count_leases_.number(2));
}

Result<std::vector<Record>> Rows::recover(const RecoverRequest& request, StoreMillis now, const Stalls& stalls) {
    std::vector<std::string> overdue;
    {
        const Resetting reset(find_overdue_);
        find_overdue_.bind(1, now);
        find_overdue_.bind(2, now - request.min_age_millis);
        find_overdue_.bind_text(3, request.own_instance);
        // Rows in grace are passed over, but not too many under the write lock.
        find_overdue_.bind(4, static_cast<std::int64_t>(request.limit) * 10);
        int code = SQLITE_ROW;
        while (overdue.size() < request.limit && (code = find_overdue_.step()) == SQLITE_ROW) {
            if (stalls.grace_left(find_overdue_.number(1)) == 0) overdue.emplace_back(find_overdue_.bytes(0));
        }
        if (code != SQLITE_ROW && code != SQLITE_DONE) return failed("look for abandoned attempts");
    }
    std::vector<Record> moved;
    for (const std::string& trace_id : overdue) {
        {
            const Resetting reset(lapse_);
            lapse_.bind_blob(1, trace_id);
            lapse_.bind(2, now);
            if (lapse_.step() != SQLITE_DONE) return failed("end an abandoned attempt");
        }
        auto found = find(trace_id, now);
        // A damaged row is moved like any other, but nobody may act on what can't be read.
        if (!found && code_ != SQLITE_OK) return std::move(found).error();
        if (found && found->record) moved.push_back(std::move(*found->record));
    }
    return moved;
}

Result<bool> Rows::anything_to_clean(StoreMillis now) {
    const Resetting reset(find_expired_);
    find_expired_.bind(1, now);
    find_expired_.bind(2, 1);
    switch (find_expired_.step()) {
        case SQLITE_ROW: return true;
        case SQLITE_DONE: return false;
        default: return failed("look for expired records");
    }
}

Result<std::size_t> Rows::clean(std::size_t limit, StoreMillis now) {
    std::vector<std::int64_t> expired;
    std::int64_t greatest = 0;
    {
        const Resetting reset(find_expired_);
        find_expired_.bind(1, now);
        find_expired_.bind(2, static_cast<std::int64_t>(limit));
        int code = SQLITE_OK;
        while ((code = find_expired_.step()) == SQLITE_ROW) {
            expired.push_back(find_expired_.number(0));
            greatest = std::max(greatest, find_expired_.number(1));
        }
        if (code != SQLITE_DONE) return failed("look for expired records");
    }
    for (const std::int64_t row : expired) {
        const Resetting reset(remove_);
        remove_.bind(1, row);
        if (remove_.step() != SQLITE_DONE) return failed("remove an expired record");
    }
    if (!expired.empty() &&
        raise_floor(static_cast<std::uint64_t>(std::min(greatest, greatest_version))) != SQLITE_DONE)
        return failed("raise the version floor");
    return expired.size();
}

Result<bool> Rows::purge(std::string_view trace_id, std::uint64_t version) {
    {
        const Resetting reset(purge_);
        purge_.bind_blob(1, trace_id);
        purge_.bind(2, signed_version(version));
        if (purge_.step() != SQLITE_DONE) return failed("purge a record");
    }
    if (sqlite3_changes(handle_) == 0) return false;
    const auto floor = std::min(version, static_cast<std::uint64_t>(greatest_version));
    if (raise_floor(floor) != SQLITE_DONE) return failed("raise the version floor");
    return true;
}

Result<RowPage> Rows::page(std::string_view after, std::size_t limit, StoreMillis now) {
    std::vector<std::string> keys;
    {
        const Resetting reset(list_);
        list_.bind_blob(1, after);
        list_.bind(2, static_cast<std::int64_t>(limit));
        int code = SQLITE_OK;
        while ((code = list_.step()) == SQLITE_ROW) keys.emplace_back(list_.bytes(0));
        if (code != SQLITE_DONE) return failed("list records");
    }
    RowPage page;
    for (const std::string& key : keys) {
        auto found = find(key, now);
        if (!found && code_ != SQLITE_OK) return std::move(found).error();
        if (!found || !found->record)
            ++page.unreadable;
        else
            page.rows.push_back(std::move(*found->record));
    }
    if (keys.size() == limit) page.last = keys.back();
    return page;
}

Result<bool> Rows::rewrite(const RewriteRequest& request) {
    const Record& seen = *request.seen;
    const std::string response = request.response ? runtime::encode_response(*request.response) : std::string();
    const Resetting reset(rewrite_);
    rewrite_.bind_blob(1, seen.trace_id);
    rewrite_.bind(2, signed_version(seen.version));
    rewrite_.bind_blob(3, seen.owner.bytes);
    rewrite_.bind(4, static_cast<int>(seen.status));
    rewrite_.bind(5, seen.update_time);
    rewrite_.bind_blob(6, request.request_body);
    if (request.response)
        rewrite_.bind_blob(7, response);
    else
        rewrite_.bind_null(7);
    if (rewrite_.step() != SQLITE_DONE) return failed("rewrite a record");
    return sqlite3_changes(handle_) == 1;
}

Result<std::optional<std::string>> Rows::known_key_rule(std::string_view operation) {
    const Resetting reset(read_rule_);
    read_rule_.bind_text(1, operation);
    switch (read_rule_.step()) {
        case SQLITE_ROW: return std::optional<std::string>(read_rule_.bytes(0));
        case SQLITE_DONE: return std::optional<std::string>();
        default: return failed("read a key rule");
    }
}

Result<std::string> Rows::key_rule(std::string_view operation, std::string_view digest, bool accept, StoreMillis now) {
    {
        const Resetting reset(keep_rule_);
        keep_rule_.bind_text(1, operation);
        keep_rule_.bind_blob(2, digest);
        keep_rule_.bind(3, now);
        keep_rule_.bind(4, accept ? 1 : 0);
        if (keep_rule_.step() != SQLITE_DONE) return failed("keep a key rule");
    }
    auto known = known_key_rule(operation);
    if (!known) return std::move(known).error();
    return std::move(**known);
}

}  // namespace nebis::sqlite
