// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec.hpp"
#include "nebis/mysql.hpp"
#include "opening.hpp"
#include "script.hpp"

#include <span>

namespace nebis::mysql {

/// One connection that never blocks past a deadline. **Threads**: one at a time.
class Connection {
public:
    /// Connects and pins the session's settings: those on which a promise of the store rests.
    static Result<std::unique_ptr<Connection>> open(const Options& options, Deadline deadline);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// The statements in one round trip, an answer for each of the decisive ones. The server runs none after one that
    /// failed. **Errors**: what the server answered to the first that failed; whatever transaction it was in is still
    /// open, so `tidy` next. `unavailable` when nothing was sent. `maybe_applied` when an answer was lost; then the
    /// connection is spent.
    Result<Answers> run(const Script& script, Deadline deadline);

    /// Rolls back and lets all advisory locks go; spends the connection when that fails.
    void tidy(Deadline deadline);

    /// False: it must not be used again. Looks whether the server has hung up meanwhile, so that a restart costs an
    /// idle connection and not an unknown outcome.
    bool usable() noexcept;
    void spend() noexcept { spent_ = true; }

private:
    explicit Connection(MYSQL* handle) : handle_(handle) {}

    static Result<std::unique_ptr<Connection>> open_one(const Options& options, const Place& place,
                                                        const std::string& password, Deadline deadline);
    Result<void> pin(const Options& options, Deadline deadline);
    /// Waits for what the client library asks for; what came of it. False: the deadline came.
    bool wait(int& status, Deadline deadline);
    /// Goes on with a call of the library until it is done. False: the deadline came, the call was cut off.
    template <class Go>
    bool finish(int status, Deadline deadline, Go go);
    Error fault();

    MYSQL* handle_;
    std::size_t longest_ = 0;  ///< packet that the server takes
    bool spent_ = false;
};

}  // namespace nebis::mysql
