// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace nebis::proof {
namespace {

constexpr Micros never = std::numeric_limits<Micros>::max();

bool final_answer(Said said) { return said == Said::success || said == Said::rejected; }

/// `atomic`, claim inside: begin, effect and end are one commit, and a new row may be written once, ended.
bool appears_ended(const RowChange& change) {
    return !change.before && change.after && is_terminal(change.after->status);
}

/// A begin starts a new window when nothing that counts stood there.
bool counts_as_new(const RowChange& change) {
    if (appears_ended(change)) return true;
    if (!change.after || change.after->status != RecordStatus::processing) return false;
    return !change.before || (is_final(change.before->status) && change.before->expire_time <= change.at &&
                              change.before->version != change.after->version);
}

class Auditor {
public:
    Auditor(const KeyHistory& history, const Circumstances& circumstances) : key_(history), run_(circumstances) {}

    std::vector<Violation> audit() {
        find_windows();
        effects();
        answers();
        rows();
        rest();
        return std::move(violations_);
    }

private:
    void violation(int invariant, std::string what) { violations_.push_back({invariant, key_.key, std::move(what)}); }

    /// First versions of the retention windows. Clean-up may end a window and a late client begin a new one; versions
    /// grow over deletes, so they tell to which window an attempt belongs.
    void find_windows() {
        for (const RowChange& change : key_.rows)
            if (counts_as_new(change)) windows_.push_back(change.after->version);
        std::sort(windows_.begin(), windows_.end());
    }
    std::size_t window_of(std::uint64_t token) const {
        if (windows_.size() < 2) return 0;
        const auto after = std::upper_bound(windows_.begin(), windows_.end(), token);
        return static_cast<std::size_t>(after - windows_.begin());
    }

    void effects() {
        std::map<std::size_t, std::size_t> per_window;
        for (const Effect& effect : key_.effects) {
            done_.insert(effect.logical);
            if (effect.token != 0 && !tokens_.insert(effect.token).second)
                violation(5, "two effects carry the fencing token " + std::to_string(effect.token));
            if (++per_window[window_of(effect.token)] == 2)
                violation(1, "a second effect in one window: " + effect.logical + ", token " +
                                 std::to_string(effect.token) + ", after " + key_.effects.front().logical + ", token " +
                                 std::to_string(key_.effects.front().token));
        }
    }

    void answers() {
        const Call* first = nullptr;  // the first recorded final answer
        Micros settled = never;       // when the earliest recorded final answer had arrived
        for (const Call& call : key_.calls) {
            for (const auto id : logical_ids_in(call.answer))
                if (id != call.logical) violation(4, "an answer to " + call.logical + " holds " + std::string(id));
            if (call.said == Said::surprise) violation(0, "a surprising answer: '" + call.answer + "'");
            if (call.said == Said::success && !done_.contains(call.logical))
                violation(2, "success was answered for " + call.logical + ", but its effect is nowhere");
            if (final_answer(call.said) && call.recorded) {
                if (first == nullptr) first = &call;
                if (single_window() && call.logical != first->logical)
                    violation(12, "one key answers both " + first->logical + " and " + call.logical);
                else if (single_window() && call.said == first->said && call.answer != first->answer)
                    violation(3, "two answers differ: '" + first->answer + "' and '" + call.answer + "'");
            }
            if (single_window() && settled < call.sent && changes_its_mind(*first, call))
                violation(6, "after " + std::string(to_string(first->said)) + " was answered, " + call.logical +
                                 " is told " + std::string(to_string(call.said)));
            if (final_answer(call.said) && call.recorded) settled = std::min(settled, call.answered);
        }
        nothing_was_executed();
    }

    /// What may still be said once a final answer has arrived.
    static bool changes_its_mind(const Call& settled, const Call& later) {
        switch (later.said) {
            case Said::lost:
            case Said::surprise:
            case Said::unavailable: return false;
            case Said::mismatch: return later.logical == settled.logical;
            case Said::success:
            case Said::rejected: return later.logical == settled.logical && later.said != settled.said;
            default: return true;
        }
    }

    /// I9, seen by the client: the last word is "not executed", nobody is at it any more, and yet there is an effect.
    /// (A call that was lost may have had it.)
    void nothing_was_executed() {
        bool somebody_says_so = false;
        for (const Call& call : key_.calls) {
            if (call.said == Said::not_executed)
                somebody_says_so = true;
            else if (call.said != Said::mismatch)
                return;
        }
        if (somebody_says_so && !key_.effects.empty())
            violation(9, "every answer was 'not executed', but there is the effect " + key_.effects.front().logical);
    }

    // ---- the trail of the row ----------------------------------------------------------------------------------

    void rows() {
        std::uint64_t greatest = 0;
        Micros begun = 0;
        std::map<std::uint64_t, std::string> owners;
        for (const RowChange& change : key_.rows) {
            if (change.after) {
                const RowState& now = *change.after;
                const bool begins = !change.before || change.before->version != now.version;
                if (begins) {
                    begun = change.at * 1000;
                    if (now.version <= greatest)
                        violation(5, "version " + std::to_string(now.version) + " after " + std::to_string(greatest));
                    greatest = std::max(greatest, now.version);
                    if (now.status != RecordStatus::processing && now.status != RecordStatus::marked &&
                        !(key_.atomic && appears_ended(change)))
                        violation(7, "a row appears or is taken over as " + std::string(to_string(now.status)));
                }
                // Whoever settles an UNKNOWN row puts a name of its own there, so that the late owner can't undo it.
                const bool settles =
                    change.before && change.before->status == RecordStatus::unknown && is_final(now.status);
                const auto [owner, fresh] = owners.emplace(now.version, now.owner);
                if (!fresh && owner->second != now.owner && !settles && !change.by_operator)
                    violation(7, "version " + std::to_string(now.version) + " is written by another owner");
                if (now.status == RecordStatus::unknown && struck_since(begun, change.at * 1000) == false)
                    violation(11, "version " + std::to_string(now.version) + " became UNKNOWN without a fault");
                conclusion(now);
            }
            if (change.before && !change.by_operator) transition(change);
        }
    }

    /// What a final status says about the effect of its attempt.
    void conclusion(const RowState& now) {
        if (now.status == RecordStatus::success) {
            if (key_.effects.empty()) {
                violation(2, "the row says SUCCESS, but there is no effect");
            } else if (!tokens_.empty() && !tokens_.contains(now.version)) {
                violation(7, "version " + std::to_string(now.version) +
                                 " is recorded as success, but the effect is that of version " +
                                 std::to_string(*tokens_.begin()));
            }
        }
        if ((now.status == RecordStatus::fail || now.status == RecordStatus::rejected) && tokens_.contains(now.version))
            violation(9, "version " + std::to_string(now.version) + " is recorded as " +
                             std::string(to_string(now.status)) + ", but it had an effect");
    }

    void transition(const RowChange& change) {
        const RowState& was = *change.before;
        const bool over = was.expire_time <= change.at;
        if (!change.after) {
            if (!is_final(was.status) || !over)
                violation(6, "a row is deleted while it counts: " + std::string(to_string(was.status)));
            return;
        }
        const RowState& now = *change.after;
        const bool taken_over = now.version != was.version;
        if (is_terminal(was.status) && !over &&
            (taken_over || now.status != was.status || now.response != was.response))
            violation(6,
                      std::string(to_string(was.status)) + " is overwritten by " + std::string(to_string(now.status)));
        if (!taken_over) return;
        if (was.status == RecordStatus::processing && was.lease_expire_time > change.at)
            violation(8, "version " + std::to_string(now.version) + " takes over " +
                             std::to_string(was.lease_expire_time - change.at) + " ms before the lease of " +
                             std::to_string(was.version) + " ends");
        if (!key_.atomic && (was.status == RecordStatus::processing || was.status == RecordStatus::unknown))
            violation(8, "version " + std::to_string(now.version) + " runs again what may have happened in " +
                             std::to_string(was.version));
    }

    bool struck_since(Micros from, Micros until) const {
        if (key_.upstream_faulted) return true;
        return std::any_of(run_.faults.begin(), run_.faults.end(),
                           [&](const Fault& fault) { return fault.from <= until && fault.until >= from; });
    }

    void rest() {
        if (!run_.at_rest) return;
        if (!key_.rows.empty() && key_.rows.back().after) {
            const RecordStatus status = key_.rows.back().after->status;
            if (!is_final(status) && status != RecordStatus::unknown)
                violation(10, "the row still says " + std::string(to_string(status)));
        }
        const bool answered =
            std::any_of(key_.calls.begin(), key_.calls.end(), [](const Call& call) { return final_answer(call.said); });
        if (!key_.calls.empty() && !answered) violation(10, "no client ever got a final answer");
        if (key_.atomic && answered && key_.effects.empty() && key_.calls.end() != success())
            violation(1, "finally answered, but no effect");
    }
    std::vector<Call>::const_iterator success() const {
        return std::find_if(key_.calls.begin(), key_.calls.end(),
                            [](const Call& call) { return call.said == Said::success; });
    }

    bool single_window() const { return windows_.size() < 2; }

    const KeyHistory& key_;
    const Circumstances& run_;
    std::vector<std::uint64_t> windows_;
    std::set<std::string, std::less<>> done_;
    std::set<std::uint64_t> tokens_;
    std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> check(const KeyHistory& history, const Circumstances& circumstances) {
    return Auditor(history, circumstances).audit();
}

void Verdict::add(const KeyHistory& history, const Circumstances& circumstances) {
    ++keys;
    answered += std::any_of(history.calls.begin(), history.calls.end(),
                            [](const Call& call) { return final_answer(call.said); });
    auto found = check(history, circumstances);
    const auto breaks = [&](int invariant) {
        return std::any_of(found.begin(), found.end(), [&](const Violation& v) { return v.invariant == invariant; });
    };
    doubled += breaks(1);
    lost += breaks(2);
    stuck += breaks(10);
    violations.insert(violations.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

}  // namespace nebis::proof
