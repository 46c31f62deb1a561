// SPDX-License-Identifier: Apache-2.0
#include "driver/one_or_each.hpp"
#include "errors.hpp"
#include "runtime/snapshot.hpp"
#include "session.hpp"

#include <utility>

namespace nebis::mysql {
namespace {

void write_statuses(Script& script, const FinishRequest& one) {
    std::vector<RecordStatus> from;
    if (one.from_processing) from.push_back(RecordStatus::processing);
    if (one.from_unknown) from.push_back(RecordStatus::unknown);
    if (one.from_marked) from.push_back(RecordStatus::marked);
    if (from.empty()) {
        script.sql(" AND FALSE");
        return;
    }
    script.sql(" AND status IN (");
    listed(script, from, [&](RecordStatus status) { script.number(static_cast<int>(status)); });
    script.sql(")");
}

/// Values are assigned from left to right, so expire_time still sees the old lease.
void write_finished(Script& script, const FinishRequest& one) {
    if (one.status == RecordStatus::processing)
        script.sql(" SET expire_time=GREATEST(@ms+").number(one.retention_millis).sql(",lease_expire_time)");
    else
        script.sql(" SET expire_time=@ms+").number(one.retention_millis).sql(",lease_expire_time=@ms");
    script.sql(",status=").number(static_cast<int>(one.status)).sql(",response_body=");
    if (one.response)
        script.bytes(runtime::encode_response(*one.response));
    else
        script.sql("NULL");
    script.sql(",update_time=@ms");
    if (one.new_owner) script.sql(",owner=").bytes(bytes_of(*one.new_owner));
    if (!one.outcome_ref.empty()) script.sql(",outcome_ref=").text(one.outcome_ref);
}

void write_mine(Script& script, std::string_view trace_id, std::uint64_t version, const Owner& owner) {
    script.sql(" WHERE trace_id=").bytes(trace_id).sql(" AND version=").number(static_cast<std::int64_t>(version));
    script.sql(" AND owner=").bytes(bytes_of(owner));
}

constexpr std::string_view only_held = " AND FIND_IN_SET(id,@held)";

}  // namespace

// ---- finish

std::vector<std::size_t> Session::write_finishes(Script& script, std::span<const FinishRequest> in) const {
    write_hold(script, in);
    write_clock(script);
    std::vector<std::size_t> updates;
    for (const auto& one : in) {
        script.open("UPDATE ").sql(quoted_);
        write_finished(script, one);
        write_mine(script, one.trace_id, one.version, one.owner);
        write_statuses(script, one);
        updates.push_back(script.sql(only_held).close());
    }
    return updates;
}

void Session::finish(std::span<const FinishRequest> in, Finished out, Deadline deadline) {
    if (in.empty()) return;
    driver::in_one_or_each(
        in, out,
        [&](std::span<const FinishRequest> some, Finished outcomes) { return finish_batch(some, outcomes, deadline); },
        perhaps_one_row, [](const FinishRequest&, Result<FinishOutcome>&) {});
}

Result<void> Session::finish_batch(std::span<const FinishRequest> in, Finished out, Deadline deadline) {
    Script script;
    script.statement("START TRANSACTION");
    const auto updates = write_finishes(script, in);
    const auto clock = script.statement("SELECT @ms");
    script.statement("COMMIT");
    auto answers = run(script, deadline);
    if (!answers) return std::move(answers).error();
    settle_finishes(in, *answers, updates, (*answers)[clock].number(0, 0), out, deadline);
    return {};
}

void Session::settle_finishes(std::span<const FinishRequest> in, const Answers& answers,
                              std::span<const std::size_t> updates, StoreMillis now, Finished out, Deadline deadline) {
    const auto applied_at = [](StoreMillis when) {
        FinishOutcome done;
        done.applied = true;
        done.now = when;
        return done;
    };
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (answers[updates[i]].affected() == 1) {
            out[i] = applied_at(now);
            continue;
        }
        auto found = read_back(in[i].trace_id, deadline);
        // Still as it was asked for: somebody held it, a renewal most likely.
        if (found && found->record) {
            runtime::RowHead head;
            head.status = found->record->status;
            head.version = found->record->version;
            head.owner = found->record->owner;
            if (runtime::may_finish(head, in[i])) {
                Script alone;
                write_clock(alone);
                alone.open("UPDATE ").sql(quoted_);
                write_finished(alone, in[i]);
                write_mine(alone, in[i].trace_id, in[i].version, in[i].owner);
                write_statuses(alone, in[i]);
                const auto update = alone.close();
                alone.decided();
                const auto clock = alone.statement("SELECT @ms");
                auto waited = run(alone, deadline);
                if (!waited) {
                    out[i] = std::move(waited).error();
                    continue;
                }
                if ((*waited)[update].affected() == 1) {
                    out[i] = applied_at(waited->size() > clock ? (*waited)[clock].number(0, 0) : found->now);
                    continue;
                }
                found = read_back(in[i].trace_id, deadline);
            }
        }
        if (!found) {
            out[i] = std::move(found).error();
            continue;
        }
        FinishOutcome done;
        done.now = found->now;
        done.current = std::move(found->record);
        out[i] = std::move(done);
    }
}

Result<FindOutcome> Session::read_back(std::string_view trace_id, Deadline deadline) {
    const FindRequest one{trace_id};
    Result<FindOutcome> found = FindOutcome{};
    find(std::span(&one, 1), std::span(&found, 1), deadline);
    return found;
}

// ---- renew

void Session::renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    driver::in_one_or_each(
        in, out,
        [&](std::span<const RenewRequest> some, std::span<Result<RenewOutcome>> outcomes) {
            return renew_batch(some, outcomes, deadline);
        },
        perhaps_one_row,
        [](const RenewRequest&, Result<RenewOutcome>& one) {
            if (!is_lock_fault(one.error())) return;
            RenewOutcome locked;
            locked.kind = RenewOutcome::Kind::locked;
            one = locked;
        });
}

Result<void> Session::renew_batch(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out,
                                  Deadline deadline) {
    const auto write_still = [](Script& script, const RenewRequest& one) {
        write_mine(script, one.trace_id, one.version, one.owner);
        script.sql(one.ask ? " AND status=4 AND lease_expire_time<=@ms" : " AND status=0");
    };
    Script script;
    script.statement("START TRANSACTION");
    write_hold(script, in);
    write_clock(script);
    std::vector<std::size_t> updates;
    for (const auto& one : in) {
        script.open("UPDATE ").sql(quoted_).sql(" SET lease_expire_time=@ms+").number(one.lease_millis);
        script.sql(",expire_time=GREATEST(expire_time,@ms+").number(one.lease_millis).sql("),update_time=@ms");
        write_still(script, one);
        updates.push_back(script.sql(only_held).close());
    }
    const auto clock = script.statement("SELECT @ms");
    script.statement("COMMIT");
    auto answers = run(script, deadline);
    if (!answers) return std::move(answers).error();
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < in.size(); ++i) {
        out[i] = RenewOutcome{RenewOutcome::Kind::renewed, (*answers)[clock].number(0, 0)};
        if ((*answers)[updates[i]].affected() != 1) left.push_back(i);
    }
    if (left.empty()) return {};
    // A row that is still ours was locked, so it is alive.
    Script looking;
    write_clock(looking);
    std::vector<std::size_t> looks;
    for (const auto i : left) {
        looking.open("SELECT @ms FROM ").sql(quoted_);
        write_still(looking, in[i]);
        looks.push_back(looking.close());
    }
    const auto looked_at = looking.statement("SELECT @ms");
    auto seen = read(looking, deadline);
    for (std::size_t n = 0; n < left.size(); ++n) {
        if (!seen) {
            out[left[n]] = seen.error();
            continue;
        }
        const bool still = (*seen)[looks[n]].size() == 1;
        out[left[n]] = RenewOutcome{still ? RenewOutcome::Kind::locked : RenewOutcome::Kind::lost,
                                    (*seen)[looked_at].number(0, 0)};
    }
    return {};
}

}  // namespace nebis::mysql
