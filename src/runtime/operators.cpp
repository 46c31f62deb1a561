// SPDX-License-Identifier: Apache-2.0
#include "nebis/engine.hpp"
#include "runtime/core.hpp"
#include "runtime/owner.hpp"

#include <utility>

/// What operators do to a record: look, settle, purge. Every change of theirs is an audit line in the log, with its
/// reason.
namespace nebis {
namespace {

using runtime::Core;
using runtime::OperationState;
using runtime::StoreJob;

constexpr auto operator_wait = std::chrono::seconds(5);

struct Target {
    OperationState& operation;
    std::string trace_id;
    Deadline deadline;
};

Result<Target> target_of(const Operation& operation, const Request& request) {
    auto identity = operation.state()->identifier.identify(request);
    if (!identity) return std::move(identity).error();
    if (!identity->keyed)
        return Error(ErrorKind::rejected_input, "the request has no key, so there is no record")
            .with_code("key-missing");
    return Target{*operation.state(), std::move(identity->trace_id), std::chrono::steady_clock::now() + operator_wait};
}

Result<std::optional<Record>> look(const Target& target) {
    auto key = std::make_shared<const std::string>(target.trace_id);
    auto job = std::make_shared<StoreJob>(FindRequest{*key}, target.deadline, key);
    if (auto lost = target.operation.store->run(job)) return *std::move(lost);
    auto& found = std::get<Result<FindOutcome>>(job->out);
    if (!found) return found.error();
    return std::move(found->record);
}

void audit(Core& core, const Target& target, const char* what, const Record& record, std::string_view reason) {
    core.services()->watch->log->write({.level = observe::Level::warn,
                                        .message = what,
                                        .operation = *target.operation.name,
                                        .outcome = to_string(record.status),
                                        .key_hash = observe::key_hash(target.trace_id),
                                        .attempt = record.attempts,
                                        .version = record.version,
                                        .store = target.operation.store->data_source(),
                                        .detail = reason});
}

/// Steps A and C of an operator's change of a final row: no cached answer may survive it.
Result<void> evict(Core& core, const Target& target, const Owner* take) {
    core.services()->cache.drop(std::string_view(target.trace_id));
    if (!target.operation.gate) return {};
    return target.operation.gate->evict(target.trace_id, take, target.operation.settings.lease.count(),
                                        target.deadline);
}

}  // namespace

Result<std::optional<Record>> Engine::inspect(const Operation& operation, const Request& request) const {
    auto target = target_of(operation, request);
    if (!target) return std::move(target).error();
    return look(*target);
}

Result<bool> Engine::settle(const Operation& operation, const Request& request, const Resolution& resolution,
                            std::string_view reason) const {
    if (reason.empty()) return Error(ErrorKind::rejected_input, "a settlement needs a reason that can be kept");
    auto target = target_of(operation, request);
    if (!target) return std::move(target).error();
    auto seen = look(*target);
    if (!seen) return std::move(seen).error();
    if (!*seen || (*seen)->status != RecordStatus::unknown || resolution.kind == Resolution::Kind::dont_know)
        return false;

    struct Kept {
        Record record;
        Response response;
    };
    auto kept = std::make_shared<const Kept>(Kept{**seen, resolution.response});
    FinishRequest finish;
    finish.trace_id = kept->record.trace_id;
    finish.version = kept->record.version;
    finish.owner = kept->record.owner;
    finish.new_owner = runtime::fresh_owner();
    finish.from_processing = false;
    finish.retention_millis = target->operation.settings.retention.count();
    switch (resolution.kind) {
        case Resolution::Kind::happened: finish.status = RecordStatus::success; break;
        case Resolution::Kind::refused: finish.status = RecordStatus::rejected; break;
        default: finish.status = RecordStatus::fail; break;
    }
    if (is_terminal(finish.status)) finish.response = &kept->response;
    auto job = std::make_shared<StoreJob>(finish, target->deadline, kept);
    if (auto lost = target->operation.store->run(job)) return *std::move(lost);
    const auto& outcome = std::get<Result<FinishOutcome>>(job->out);
    if (!outcome) return outcome.error();
    if (!outcome->applied) return false;
    core_->services()->cache.drop(std::string_view(target->trace_id));
    Record after = kept->record;
    after.status = finish.status;
    audit(*core_, *target, "an operator settled a record", after, reason);
    return true;
}

Result<bool> Engine::purge(const Operation& operation, const Request& request, std::string_view reason) const {
    if (reason.empty()) return Error(ErrorKind::rejected_input, "a purge needs a reason that can be kept");
    auto target = target_of(operation, request);
    if (!target) return std::move(target).error();
    const Owner operators = runtime::fresh_owner();
    if (auto taken = evict(*core_, *target, &operators); !taken) return std::move(taken).error();  // A
    auto seen = look(*target);
    if (!seen) return std::move(seen).error();
    bool removed = false;
    if (*seen) {  // B
        auto kept = std::make_shared<std::pair<Record, Result<bool>>>(**seen, false);
        auto lost =
            target->operation.store->with_session(target->deadline, [kept](StoreSession& session, Deadline deadline) {
                kept->second = session.purge(kept->first.trace_id, kept->first.version, deadline);
                return kept->second.has_value() || kept->second.error().kind() == ErrorKind::rejected_input;
            });
        if (lost) return *std::move(lost);
        if (!kept->second) return kept->second.error();
        removed = *kept->second;
        audit(*core_, *target, "an operator purged a record", **seen, reason);
    }
    if (auto dropped = evict(*core_, *target, nullptr); !dropped)  // C
        return Error(ErrorKind::unavailable, "the record is gone, but the lock service still holds its lock",
                     dropped.error().detail(), "purge it again, or wait for one lease");
    return removed;
}

}  // namespace nebis
