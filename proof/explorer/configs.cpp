// SPDX-License-Identifier: Apache-2.0
#include "configs.hpp"

namespace nebis::explore {
namespace {

Config base(std::string_view name, Mode mode, int requests, Budget budget) {
    Config config;
    config.name = name;
    config.rules = small_rules(mode);
    config.requests = requests;
    config.budget = budget;
    return config;
}

/// Changes a configuration's rules where it is made.
template <class Change>
Config with(Config config, Change change) {
    change(config);
    return config;
}

void short_retention(Config& config) { config.rules.retention = config.retention = 3 * tick; }

Config asking(Config config) {
    config.rules.on_unknown = OnUnknown::ask;
    config.rules.resolver = true;
    return config;
}

Config retrying(Config config) {
    config.rules.on_unknown = OnUnknown::retry;
    config.exact = false;
    return config;
}

void flooded(Config& config) { config.flood = true; }

Config inside(Config config) {
    config.rules.claim_inside = true;
    return config;
}

}  // namespace

std::vector<Task> sound_tasks(bool share) {
    const Mode execute = Mode::execute, atomic = Mode::atomic, hooked = Mode::hooked, mark = Mode::mark;
    std::vector<Task> tasks;
    const auto small = [&](Config config) { tasks.push_back({config}); };
    const auto large = [&](Config config) {
        if (!share) tasks.push_back({config});
    };
    // execute, hold
    small(base("hold: 2 requests, no fault", execute, 2, {}));
    small(base("hold: 4 requests, a clean failure", execute, 4, {.fail = 1}));
    large(base("hold: time, lost messages, kill, recovery", execute, 2,
               {.ticks = 3, .lost = 1, .kill = 1, .recover = 1}));
    small(base("hold: kill, recovery", execute, 2, {.ticks = 2, .kill = 1, .recover = 1}));
    small(base("hold: 2 lost messages", execute, 2, {.lost = 2}));
    large(base("hold: 2 lost messages, time", execute, 2, {.ticks = 2, .lost = 2}));
    large(base("hold: 3 requests, lost messages", execute, 3, {.ticks = 1, .lost = 1}));
    large(base("hold: handler fails, refuses, doubts", execute, 2,
               {.ticks = 3, .recover = 1, .fail = 1, .reject = 1, .doubt = 1}));
    large(base("hold: the gate forgets, or remembers too much", execute, 2, {.ticks = 3, .gate = 2}));
    large(with(base("hold: another payload", execute, 3, {.lost = 1, .gate = 1, .fail = 1}),
               [](Config& c) { c.others = 1; }));
    small(with(base("hold: another payload, clean failure", execute, 3, {.fail = 1}), [](Config& c) { c.others = 1; }));
    large(base("hold: an operator settles", execute, 2, {.ticks = 3, .kill = 1, .doubt = 1, .settle = 1}));
    small(base("hold: purge", execute, 3, {.gate = 1, .purge = 1}));
    small(base("hold: purge after a lost reply", execute, 2, {.lost = 1, .purge = 1}));
    large(base("hold: purge of an unknown outcome", execute, 2, {.ticks = 2, .kill = 1, .doubt = 1, .purge = 1}));
    large(with(base("hold: retention ends", execute, 2, {.ticks = 5, .lost = 1, .clean = 1}), short_retention));
    large(base("hold: callers leave", execute, 2, {.ticks = 2, .lost = 1, .abandon = 1}));
    large(with(base("hold: duplicates wait", execute, 2, {.ticks = 2, .lost = 1, .fail = 1}),
               [](Config& c) { c.rules.wait_for_answer = true; }));
    small(with(base("hold: 3 duplicates wait, one leaves", execute, 3, {.abandon = 1}),
               [](Config& c) { c.rules.wait_for_answer = true; }));
    large(with(base("hold: no gate", execute, 3, {.ticks = 2, .lost = 1}), [](Config& c) { c.rules.gate = false; }));
    large(with(base("hold: gate must answer", execute, 2, {.ticks = 1, .lost = 2}),
               [](Config& c) { c.rules.fail_open = false; }));
    large(base("hold: renewal", execute, 2, {.ticks = 4, .recover = 1, .renew = 1}));
    small(with(base("hold: finished ones are refused", execute, 2, {.lost = 1}),
               [](Config& c) { c.rules.refuse_finished = true; }));
    small(with(base("hold: unprotected when the store is away", execute, 2, {.lost = 1, .abandon = 1}),
               [](Config& c) { c.rules.allow_unprotected = true; }));
    // A filter and a quota in front, wrong in every way they can be.
    small(with(base("flood: 3 requests, clean failure", execute, 3, {.fail = 1}), flooded));
    small(with(base("flood: lost messages", execute, 2, {.lost = 1}), flooded));
    large(with(base("flood: time, kill, the gate forgets", execute, 2, {.ticks = 2, .kill = 1, .gate = 1}), flooded));
    large(with(base("flood: retention ends", execute, 2, {.ticks = 5, .lost = 1, .clean = 1}), [](Config& c) {
        flooded(c);
        short_retention(c);
    }));
    small(with(base("flood: atomic, broken commits", atomic, 2, {.lost = 1}), flooded));
    small(with(base("flood: mark", mark, 3, {.fail = 1}), flooded));
    // execute, ask and retry
    large(asking(base("ask: time, kill, doubt", execute, 2, {.ticks = 3, .kill = 1, .recover = 1, .doubt = 1})));
    small(asking(base("ask: 3 requests", execute, 3, {.lost = 1, .doubt = 1})));
    large(asking(base("ask: lost messages, doubt twice", execute, 2, {.ticks = 1, .lost = 1, .doubt = 2})));
    large(retrying(base("retry: time, kill, lost messages", execute, 2, {.ticks = 3, .lost = 1, .kill = 1})));
    large(retrying(base("retry: 3 requests", execute, 3, {.ticks = 3})));
    small(retrying(base("retry: doubt", execute, 3, {.doubt = 1})));
    // atomic
    large(base("atomic: time, kill, broken commit, recovery", atomic, 2,
               {.ticks = 3, .lost = 1, .kill = 1, .recover = 1}));
    small(base("atomic: 2 broken commits or lost messages", atomic, 2, {.lost = 2}));
    large(base("atomic: 3 requests, body fails, refuses", atomic, 3, {.lost = 1, .fail = 1, .reject = 1}));
    large(with(base("atomic: retention ends", atomic, 2, {.ticks = 4, .clean = 1}), short_retention));
    large(inside(base("inside: time, kill, broken commit", atomic, 2, {.ticks = 3, .lost = 1, .kill = 1})));
    small(inside(base("inside: 2 broken commits or lost messages", atomic, 2, {.lost = 2})));
    large(inside(base("inside: 3 requests, body fails, refuses", atomic, 3, {.lost = 1, .fail = 1, .reject = 1})));
    small(inside(with(base("inside: duplicates wait, no gate", atomic, 2, {.lost = 1}), [](Config& c) {
        c.rules.wait_for_answer = true;
        c.rules.gate = false;
    })));
    // mark
    large(base("mark: kill, lost messages, clean failure", mark, 3, {.lost = 1, .kill = 1, .fail = 1}));
    small(base("mark: lost messages, callers leave", mark, 2, {.lost = 1, .abandon = 1}));
    large(base("mark: time, 2 lost messages", mark, 2, {.ticks = 2, .lost = 2}));
    // hooked
    large(base("hooked: time, kill, lost messages", hooked, 2, {.ticks = 3, .lost = 1, .kill = 1}));
    small(base("hooked: lost messages, failures", hooked, 2, {.lost = 1, .fail = 1, .reject = 1}));
    large(base("hooked: 2 lost messages", hooked, 2, {.ticks = 1, .lost = 2}));
    small(asking(base("hooked: duplicates ask the coordinator", hooked, 2, {.ticks = 2, .kill = 1})));
    large(asking(base("hooked: they ask, lost messages, kill", hooked, 2, {.ticks = 2, .lost = 1, .kill = 1})));
    // More of everything at once.
    large(base("more: hold, 3 requests, time, kill, recovery", execute, 3, {.ticks = 2, .kill = 1, .recover = 1}));
    large(base("more: hold, 2 kills, doubt", execute, 2, {.ticks = 3, .kill = 2, .recover = 1, .doubt = 1}));
    large(base("more: hold, 3 lost messages", execute, 2, {.lost = 3}));
    large(base("more: hold, 4 requests, lost messages", execute, 4, {.lost = 1}));
    large(base("more: hold, purge, lost messages", execute, 3, {.lost = 1, .purge = 1}));
    large(
        base("more: hold, operator, lost messages, kill", execute, 2, {.ticks = 2, .lost = 1, .kill = 1, .settle = 1}));
    large(with(base("more: hold, duplicates wait, kill", execute, 2, {.ticks = 3, .kill = 1, .recover = 1}),
               [](Config& c) { c.rules.wait_for_answer = true; }));
    large(asking(base("more: ask, 3 requests, time, doubt", execute, 3, {.ticks = 2, .doubt = 1})));
    large(asking(base("more: ask, 2 lost messages, doubt", execute, 2, {.ticks = 1, .lost = 2, .doubt = 1})));
    large(asking(base("more: ask, operator", execute, 2, {.ticks = 2, .kill = 1, .doubt = 1, .settle = 1})));
    large(retrying(base("more: retry, 3 requests, lost messages", execute, 3, {.ticks = 2, .lost = 1})));
    large(base("more: atomic, 3 requests, time, kill", atomic, 3, {.ticks = 2, .lost = 1, .kill = 1}));
    large(base("more: atomic, 3 broken commits or lost messages", atomic, 2, {.ticks = 1, .lost = 3}));
    large(base("more: atomic, gate", atomic, 2, {.ticks = 2, .lost = 1, .gate = 1}));
    large(inside(base("more: inside, 3 requests, time, kill", atomic, 3, {.ticks = 2, .lost = 1, .kill = 1})));
    large(inside(base("more: inside, 3 broken commits or lost messages", atomic, 3, {.ticks = 1, .lost = 3})));
    large(inside(
        with(base("more: inside, gate, retention ends", atomic, 2, {.ticks = 4, .lost = 1, .gate = 1, .clean = 1}),
             short_retention)));
    large(with(base("more: mark, gate, retention ends", mark, 2, {.ticks = 4, .lost = 1, .gate = 1, .clean = 1}),
               short_retention));
    large(base("more: hooked, 2 lost messages, kill", hooked, 2, {.ticks = 2, .lost = 2, .kill = 1}));
    large(base("more: hooked, 3 requests, kill", hooked, 3, {.ticks = 2, .kill = 1, .recover = 1, .fail = 1}));
    return tasks;
}

std::vector<ArticleTask> article_tasks() {
    using Charge = ArticleConfig::Charge;
    const auto twice = Charge::double_effect;
    return {
        {{.name = "article: requestId from the key, no fault", .requests = 3, .derived_ids = true, .charge = twice}},
        {{.name = "article: requestId from the key, FAIL over SUCCESS",
          .derived_ids = true,
          .charge = Charge::success_overwritten}},
        {{.name = "article: the lock vanishes", .requests = 3, .lock_vanishes = 1, .charge = twice}},
        {{.name = "article: the lock vanishes, FAIL over SUCCESS",
          .lock_vanishes = 1,
          .charge = Charge::success_overwritten}},
        {{.name = "article: the update to SUCCESS fails", .update_fails = 1, .charge = twice}},
        {{.name = "article: recovery while the owner is slow", .recovers = 1, .charge = twice}},
        {{.name = "article: 4 requests, unique ids, nothing befalls it", .requests = 4}, false},
    };
}

std::vector<Task> broken_tasks() {
    std::vector<Task> tasks;
    const auto add = [&](Flaw flaw, std::string_view name, std::string_view charge, Config config) {
        config.flaw = flaw;
        config.name = name;
        tasks.push_back({config, true, charge});
    };
    const Mode execute = Mode::execute, atomic = Mode::atomic;
    const Budget slow{.ticks = 3, .recover = 1};
    add(Flaw::finish_forgets_version, "broken: finish without version and owner", "I7",
        retrying(base("", execute, 2, {.ticks = 3, .fail = 1})));
    add(Flaw::takes_over_in_hold, "broken: hold takes an ended lease over", "I1", base("", execute, 2, slow));
    add(Flaw::recovery_sets_fail, "broken: recovery sets FAIL", "I1", base("", execute, 2, slow));
    add(Flaw::leave_forgets_owner, "broken: leave writes the cache without the lock", "Z34",
        base("", execute, 2, {.purge = 1}));
    add(Flaw::purges_without_lock, "broken: purge without taking the lock", "Z34", base("", execute, 3, {.purge = 1}));
    add(Flaw::keeps_the_claim, "broken: no give-back", "a claim stays behind", base("", execute, 2, {.abandon = 1}));
    add(Flaw::forgets_not_after, "broken: a late begin still counts", "a claim stays behind",
        base("", execute, 1, {.ticks = 3, .lost = 2}));
    add(Flaw::forgets_own_insert, "broken: own insert taken for somebody else's", "a claim stays behind",
        base("", execute, 1, {.lost = 1}));
    add(Flaw::starts_without_lease, "broken: handler starts without looking at the lease", "I8",
        base("", execute, 2, {.ticks = 3}));
    add(Flaw::prefers_own_answer, "broken: own answer instead of the row's", "I3",
        base("", execute, 2, {.ticks = 3, .recover = 1, .settle = 1}));
    add(Flaw::forgets_version_at_delete, "broken: versions begin again after a delete", "I5",
        base("", execute, 2, {.purge = 1}));
    add(Flaw::retakes_fail_blindly, "broken: FAIL taken over by another payload", "I12",
        with(base("", execute, 2, {.fail = 1}), [](Config& c) { c.others = 1; }));
    add(Flaw::cache_ignores_hash, "broken: cache without request hash", "I12",
        with(base("", execute, 2, {}), [](Config& c) { c.others = 1; }));
    add(Flaw::caches_failures, "broken: FAIL is cached", "a result that is neither", base("", execute, 2, {.fail = 1}));
    add(Flaw::disproves_by_reading, "broken: ambiguous commit disproved by reading", "I9",
        base("", atomic, 1, {.lost = 1}));
    add(Flaw::commit_without_fence, "broken: commit without fence", "I6", base("", atomic, 2, {.ticks = 3}));
    add(Flaw::settles_without_proof, "broken: \"did not happen\" without proof", "I1",
        asking(base("", execute, 2, {.ticks = 2, .doubt = 1})));
    add(Flaw::settles_without_version, "broken: settling without version", "I8",
        asking(base("", execute, 2, {.doubt = 1, .settle = 1})));
    add(Flaw::calls_doubt_a_failure, "broken: a doubtful end is called a clean failure", "I9",
        base("", execute, 2, {.doubt = 1}));
    add(Flaw::hook_forgets_reference, "broken: hooked without outcome_ref", "hooked: the record contradicts",
        base("", Mode::hooked, 1, {.kill = 1}));
    return tasks;
}

}  // namespace nebis::explore
