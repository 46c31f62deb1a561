// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handle.hpp"
#include "nebis/error.hpp"
#include "nebis/zookeeper.hpp"

#include <optional>
#include <thread>

namespace nebis::zookeeper {

/// A session for as long as anybody wants one: opened at the first call, replaced when the servers have ended it. What
/// may take its time (names, closing) is done by a thread of its own. **Threads**: safe.
class Session : public std::enable_shared_from_this<Session> {
public:
    /// Done about once a second while there is a session; a second's work at most.
    using Chore = std::function<void(Session&)>;

    Session(std::shared_ptr<const Options> options, std::string hosts, Chore chore)
        : options_(std::move(options)), hosts_(std::move(hosts)), chore_(std::move(chore)) {}
    ~Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Once, by whoever made it: ends it, and waits for that ten seconds at most.
    void end();

    /// The reply when its code is an outcome: done, not there, there already, another version. Else an error.
    Result<Reply> ask(const Handle::Send& send, bool write, Deadline deadline);
    std::int64_t id() const;  ///< 0: none
    bool with_user() const noexcept { return !options_->credentials.username.empty(); }

private:
    using Clock = std::chrono::steady_clock;

    Result<std::shared_ptr<Handle>> connected(Deadline deadline);
    Result<std::shared_ptr<Handle>> open();
    Result<std::string> digest() const;
    void wake();
    void keep();
    void give_up_the_dead(std::unique_lock<std::mutex>& lock);
    void see();  ///< under the mutex
    bool is_connected() const { return handle_ && handle_->state() == Handle::State::connected; }

    const std::shared_ptr<const Options> options_;
    const std::string hosts_;
    const Chore chore_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<Handle> handle_;
    bool was_connected_ = false;
    Clock::time_point without_since_{};  ///< when the session was lost or first asked for
    Clock::time_point next_try_{};
    std::optional<Error> fault_;  ///< why there is none
    bool ended_ = false, kept_ = false;
    std::thread keeper_;
};

}  // namespace nebis::zookeeper
