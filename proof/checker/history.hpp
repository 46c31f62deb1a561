// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What happened, as seen from outside: what clients asked and were told, which effects came about, how the rows
/// changed. Each source is written by somebody who does not trust the others. The checker (checker.hpp) judges it.
namespace nebis::proof {

using Micros = std::int64_t;  ///< microseconds of one wall clock: everything runs on one machine

/// What a client was told.
enum class Said : std::uint8_t {
    success,       ///< done: the business answer
    rejected,      ///< refused for good by the business
    mismatch,      ///< same key, other request
    in_progress,   ///< somebody else is at it
    unknown,       ///< nobody knows
    not_executed,  ///< surely nothing happened *in this attempt*
    unavailable,   ///< try later
    lost,          ///< no answer: the connection broke or the time was up
    surprise,      ///< an answer that this request can't get
};
std::string_view to_string(Said said) noexcept;

/// One request of a client and its answer.
struct Call {
    std::string logical;  ///< the id inside the payload; same id = same wish
    int instance = 0;     ///< which one was asked
    Micros sent = 0;
    Micros answered = 0;
    Said said = Said::lost;
    bool replayed = false;
    bool recorded = true;  ///< false: a true answer whose record was still being written
    std::string answer;    ///< status, kept headers, body: what must be equal byte for byte
};

/// One entry of the effect ledger: the deed itself.
struct Effect {
    std::string logical;
    std::uint64_t token = 0;  ///< the fencing token of the attempt that did it; 0 when it has none
    Micros at = 0;
};

/// A row as one write left it.
struct RowState {
    RecordStatus status = RecordStatus::processing;
    std::uint64_t version = 0;
    std::string owner;
    StoreMillis lease_expire_time = 0;
    StoreMillis expire_time = 0;
    std::string response;  ///< bytes as stored; only compared
};

/// One committed write to the row, in commit order.
struct RowChange {
    StoreMillis at = 0;
    std::optional<RowState> before;  ///< empty: insert
    std::optional<RowState> after;   ///< empty: delete
    bool by_operator = false;
};

/// Everything about one key. Keys are independent, so each is judged alone.
struct KeyHistory {
    std::string key;
    bool atomic = false;            ///< else `execute` with hold or ask
    bool upstream_faulted = false;  ///< a call under this key asked the upstream to misbehave
    std::vector<Call> calls;        ///< in order of `sent`
    std::vector<Effect> effects;    ///< in order of the ledger
    std::vector<RowChange> rows;    ///< in commit order; may be empty when the store keeps no trail
};

/// A time in which an instance was killed, stopped or not yet back.
struct Fault {
    Micros from = 0;
    Micros until = 0;
};

/// What holds for a whole run.
struct Circumstances {
    std::vector<Fault> faults;
    bool at_rest = false;    ///< faults ended, and lease + recovery have passed since
    bool has_trail = false;  ///< row changes are complete
};

using History = std::map<std::string, KeyHistory>;

/// Logical ids look like `~3f0a~`: findable in any answer.
std::string logical_id(std::uint64_t number);
std::vector<std::string_view> logical_ids_in(std::string_view text);

/// One JSON object a line, for people and their tools.
std::string to_json(const KeyHistory& history);

}  // namespace nebis::proof
