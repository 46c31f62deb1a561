// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The auditor: one pass over each key's history. It knows nothing of how Nebis works inside, only what must never be
/// seen from outside:
///
///   I1  at most one effect for each key and retention window; `atomic`: exactly one once a success was answered
///   I2  no success without its effect
///   I3  all successes of one key are equal byte for byte
///   I4  an answer never holds another request's logical id
///   I5  versions grow, also over deletes; one (key, version) is one attempt
///   I6  a terminal answer or row never changes again inside its window, unless an operator changes it
///   I7  nobody writes a row that is another attempt's; the recorded success is that of the attempt with the effect
///   I8  nobody takes over while the lease lives; in `execute` nobody takes over what may have happened
///   I9  "not executed" means no effect
///   I10 at rest every row is final or UNKNOWN, and every client has a final answer
///   I11 UNKNOWN only where a fault struck
///   I12 another payload under a used key is never answered as success
///   I0  nobody gets an answer that makes no sense
namespace nebis::proof {

struct Violation {
    int invariant = 0;
    std::string key;
    std::string what;
};

/// **Time**: linear in the history of the key (sorting of its effects aside).
std::vector<Violation> check(const KeyHistory& history, const Circumstances& circumstances);

/// The figures that a proof prints.
struct Verdict {
    std::size_t keys = 0;
    std::size_t answered = 0;  ///< keys with a final answer
    std::size_t doubled = 0;   ///< keys that break I1
    std::size_t lost = 0;      ///< keys that break I2
    std::size_t stuck = 0;     ///< keys that break I10
    std::vector<Violation> violations;
    bool clean() const noexcept { return violations.empty(); }
    void add(const KeyHistory& history, const Circumstances& circumstances);
};

}  // namespace nebis::proof
