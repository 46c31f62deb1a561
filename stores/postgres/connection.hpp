// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec.hpp"
#include "nebis/postgres.hpp"
#include "statements.hpp"

#include <initializer_list>
#include <span>

namespace nebis::postgres {

/// What the server answered to a statement that failed.
Error answered(PGresult* result);

struct Step {
    Sql sql;
    const Params* params = nullptr;
};

/// One connection that never blocks past a deadline. **Threads**: one at a time.
class Connection {
public:
    /// Connects and pins the session's settings: those on which a promise of the store rests.
    static Result<std::unique_ptr<Connection>> open(const Options& options, Deadline deadline);
    ~Connection() { PQfinish(connection_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Prepares the statements of a table and goes over to pipelines. Only then `run`.
    Result<void> prepare(const std::string& table, Deadline deadline, Use use = Use::session);

    /// Statements as text, one or several with semicolons, as one transaction; the rows of the last. Only before
    /// `prepare`.
    Result<Rows> query(const std::string& sql, Deadline deadline);

    /// The steps in one round trip, as one transaction unless they say otherwise. **Errors**: what the server answered
    /// (then nothing is applied), `unavailable` when nothing was sent, else `maybe_applied`. After the last two the
    /// connection is spent.
    Result<std::vector<Rows>> run(std::initializer_list<Step> steps, Deadline deadline);

    /// The same inside a transaction that an earlier `run` opened: its time-outs stay as they are.
    Result<std::vector<Rows>> go_on(std::initializer_list<Step> steps, Deadline deadline);

    /// For the body of an `atomic` transaction: blocking, no pipeline. Until `take_back`. Null: it broke.
    PGconn* lend() noexcept;
    enum class Left : std::uint8_t {
        open,     ///< a transaction, perhaps another one
        aborted,  ///< after an error no statement counts any more
        ended,    ///< no transaction
        unusable  ///< the connection broke, or something is under way on it
    };
    /// How the body left it.
    Left take_back() noexcept;
    bool in_transaction() const noexcept { return PQtransactionStatus(connection_) != PQTRANS_IDLE; }
    /// Somebody else may have set other time-outs.
    void forget_timeouts() noexcept { server_timeout_ = 0; }

    /// False: it must not be used again. Looks whether the server has hung up meanwhile, so that a restart costs an
    /// idle connection and not an unknown outcome.
    bool usable() noexcept;
    void spend() noexcept { spent_ = true; }

private:
    Connection(PGconn* connection, std::chrono::milliseconds statement_timeout)
        : connection_(connection), statement_timeout_(statement_timeout.count()) {}

    /// False: the deadline came.
    bool wait(short events, Deadline deadline) const;
    Result<void> connect(Deadline deadline);
    Result<void> flush(Deadline deadline);
    /// The next result of a statement; null when it has no more.
    Result<PGresult*> next(Deadline deadline);
    Error broken();
    Result<std::vector<Rows>> exchange(std::initializer_list<Step> steps, const Params* timeouts, Deadline deadline);

    PGconn* connection_;
    std::int64_t statement_timeout_;
    std::int64_t server_timeout_ = 0;  ///< what the server was told last
    bool spent_ = false;
};

}  // namespace nebis::postgres
