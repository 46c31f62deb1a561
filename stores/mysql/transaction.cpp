// SPDX-License-Identifier: Apache-2.0
#include "transaction.hpp"

#include "driver/atomic.hpp"
#include "errors.hpp"
#include "identify/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nebis::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t savepoint_digits = 16;

/// The session's count of statements that would have ended the transaction. Ours use none of these words, so a body's
/// try is seen even when it ignored the refusal. MySQL counts temporary tables among the others: only MariaDB is asked.
constexpr std::string_view attempts_to_end =
    "SHOW SESSION STATUS WHERE Variable_name IN ('Com_begin','Com_commit','Com_rollback','Com_truncate',"
    "'Com_alter_table','Com_create_index','Com_drop_index','Com_rename_table','Com_lock_tables'/*M!,'Com_create_table',"
    "'Com_drop_table'*/)";

bool has_code(const Error& error, std::string_view code) { return error.code() == code; }

/// The server's word that a COMMIT has come to nothing.
bool surely_failed(const Error& error) {
    constexpr std::array<std::string_view, 5> codes{"mysql-deadlock", "mysql-rolled-back", "mysql-lock-timeout",
                                                    "mysql-1399", "mysql-1397"};
    return std::find(codes.begin(), codes.end(), error.code()) != codes.end();
}

}  // namespace

Transaction::Transaction(Connection& connection, const Options& options, const Owner& owner)
    : connection_(connection), options_(options) {
    const std::string digits = identify::to_hex(owner.bytes);
    // Two attempts of one owner may meet on the server when the first one's connection is being given up.
    name_ = "'nebis-" + digits + "','" + std::to_string(connection.number()) + "'";
    savepoint_ = "nebis_" + digits.substr(0, savepoint_digits);
}

void Transaction::write_named(Script& script, std::string_view verb, std::string_view rest) const {
    script.open(verb).sql(name_).sql(rest).close();
}

void Transaction::write_ours(Script& script) const {
    script.open(
        "SET sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',innodb_lock_wait_timeout=1,lock_wait_timeout=1"
        "/*M!,max_statement_time=");
    script.seconds(options_.statement_timeout).sql("*/").close();
}

void Transaction::write_start(Script& script) const { write_named(script, "XA START "); }

void Transaction::write_body(Script& script, milliseconds left) const {
    const milliseconds longest = std::max(left, milliseconds(1));
    const auto whole = std::chrono::ceil<seconds>(longest).count();
    script.open("SET sql_mode=@@global.sql_mode,innodb_lock_wait_timeout=").number(whole);
    script.sql(",lock_wait_timeout=").number(whole).sql("/*M!,max_statement_time=").seconds(longest).sql("*/").close();
    script.open("SAVEPOINT ").sql(savepoint_).close();
}

void Transaction::write_after_body(Script& script, bool undo) const {
    script.open(undo ? "ROLLBACK TO SAVEPOINT " : "RELEASE SAVEPOINT ").sql(savepoint_).close();
    write_ours(script);
}

bool Transaction::any_attempt(const Answer& counters) {
    for (std::size_t row = 0; row < counters.size(); ++row)
        if (counters.number(row, 1) != 0) return true;
    return false;
}

void Transaction::write_end(Script& script) const {
    script.statement(attempts_to_end);
    script.open("SELECT '").sql(savepoint_).sql("'").close();
    write_named(script, "XA END ");
}

std::optional<Error> Transaction::fault_in(const Result<Answers>& answers, const Script& script, Deadline deadline) {
    if (!answers) {
        // The savepoint is gone: with everything else, or with the transaction.
        if (!has_code(answers.error(), "mysql-1305")) return surely_not_applied(answers.error());
        Script ending;
        write_named(ending, "XA ROLLBACK ");
        const bool rolled_back = connection_.run(ending, deadline).has_value();
        if (!rolled_back) connection_.spend();
        state_ = State::over;
        return rolled_back ? driver::body_ignored_an_error() : driver::body_ended_it();
    }
    // An answer that the body hadn't read stands before ours.
    constexpr std::size_t counters = 3, proof = 2;  // from the end
    if (answers->size() != script.statements() || (*answers)[answers->size() - proof].size() != 1 ||
        (*answers)[answers->size() - proof].bytes(0, 0) != savepoint_) {
        connection_.spend();
        return driver::body_left_it_unusable();
    }
    state_ = State::idle;
    if (any_attempt((*answers)[answers->size() - counters])) return driver::body_ended_it();
    return {};
}

Result<void> Transaction::commit(Deadline deadline) {
    state_ = State::over;
    Script script;
    write_named(script, "XA COMMIT ", " ONE PHASE");
    script.decided();
    script.statement("DO RELEASE_ALL_LOCKS()");
    auto done = connection_.run(script, deadline);
    if (done) return {};
    Error error = std::move(done).error();
    // Too late to be sent at all, or refused: the end of the connection is the end of the transaction.
    connection_.spend();
    if (error.kind() == ErrorKind::maybe_applied || has_code(error, "mysql-slow") || surely_failed(error)) return error;
    return Error(ErrorKind::maybe_applied, error.message(), error.detail(), error.hint()).with_code(error.code());
}

void Transaction::roll_back(Deadline deadline) {
    if (!connection_.usable()) return connection_.spend();
    Script script;
    if (state_ == State::active) write_named(script, "XA END ");
    if (state_ != State::over) write_named(script, "XA ROLLBACK ");
    script.statement("DO RELEASE_ALL_LOCKS()");
    const auto tried = script.statement(attempts_to_end);
    auto done = connection_.run(script, deadline);
    if (!done && state_ == State::active) {
        // After a deadlock it has ended already, and is only to be put away.
        state_ = State::idle;
        return roll_back(deadline);
    }
    if (!done || done->size() != script.statements() || any_attempt((*done)[tried])) connection_.spend();
}

}  // namespace nebis::mysql
