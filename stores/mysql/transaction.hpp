// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

/// The transaction around the body of an `atomic` attempt: XA with one phase. While it is active the server refuses
/// whatever would end it, a COMMIT as well as DDL that commits by itself; after a deadlock it refuses further writes.
/// No other transaction of this server has a guard like that.
namespace nebis::mysql {

class Transaction {
public:
    /// `owner` makes its name, and that of its savepoint, one that no body meets by chance.
    Transaction(Connection& connection, const Options& options, const Owner& owner);

    // ---- parts of a script, in this order

    /// The session's settings for our own statements, whatever a body has left.
    void write_ours(Script& script) const;
    void write_start(Script& script) const;
    /// The settings for the body and its savepoint. `left`: until the attempt's deadline.
    void write_body(Script& script, std::chrono::milliseconds left) const;

    /// After the body: back to our own settings, the body's work kept or undone.
    void write_after_body(Script& script, bool undo) const;
    /// Last: nothing more is written, and `fault_in` can tell.
    void write_end(Script& script) const;

    /// Why nothing of the body may count, from the answer to a script with `write_after_body` and `write_end`.
    std::optional<Error> fault_in(const Result<Answers>& answers, const Script& script, Deadline deadline);

    /// After `write_end`. **Errors**: `maybe_applied` when nobody knows; else it is surely rolled back.
    Result<void> commit(Deadline deadline);
    /// Ends it if it is still there; spends the connection when that fails or when the body had tried to end it.
    void roll_back(Deadline deadline);

private:
    void write_named(Script& script, std::string_view verb, std::string_view rest = {}) const;
    static bool any_attempt(const Answer& counters);

    Connection& connection_;
    const Options& options_;
    std::string name_;
    std::string savepoint_;
    enum class State : std::uint8_t { active, idle, over } state_ = State::active;
};

}  // namespace nebis::mysql
