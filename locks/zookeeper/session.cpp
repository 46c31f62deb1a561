// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "driver/password_file.hpp"
#include "errors.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace nebis::zookeeper {
namespace {

constexpr std::chrono::milliseconds retry_pause{500};
constexpr std::chrono::seconds chore_pause{1};
constexpr std::chrono::seconds longest_end{10};

Error none_there() {
    return Error(ErrorKind::unavailable, "there is no session with ZooKeeper", {},
                 "check `lock.address`, that a majority of its members runs, and that clients may connect")
        .with_code("zookeeper-connect");
}

bool is_outcome(int code) { return code == ZOK || code == ZNONODE || code == ZNODEEXISTS || code == ZBADVERSION; }

}  // namespace

Result<Reply> Session::ask(const Handle::Send& send, bool write, Deadline deadline) {
    auto handle = connected(deadline);
    if (!handle) return std::move(handle).error();
    auto reply = (*handle)->ask(send, deadline);
    if (!reply.came) return timed_out(write);
    if (!is_outcome(reply.code)) return error_of(reply.code, reply.sent, write);
    return reply;
}

std::int64_t Session::id() const {
    const std::lock_guard lock(mutex_);
    return handle_ ? handle_->session() : 0;
}

Result<std::shared_ptr<Handle>> Session::connected(Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!keeper_.joinable() && !ended_) {
        without_since_ = Clock::now();
        keeper_ = std::thread([self = shared_from_this()] { self->keep(); });
    }
    const auto until = std::min<Deadline>(deadline, without_since_ + options_->connect_timeout);
    if (changed_.wait_until(lock, until, [&] { return is_connected(); })) return handle_;
    return fault_ ? *fault_ : none_there();
}

void Session::see() {
    const bool is = is_connected();
    if (was_connected_ && !is) without_since_ = Clock::now();
    if (is) fault_.reset();
    was_connected_ = is;
}

void Session::wake() {
    {
        const std::lock_guard lock(mutex_);
        see();
    }
    changed_.notify_all();
}

Result<std::string> Session::digest() const {
    const auto& who = options_->credentials;
    if (who.username.empty()) return std::string();
    if (who.password_file.empty()) return who.username + ":" + who.password;
    auto password = driver::read_password(who.password_file, "ZooKeeper", "zookeeper-password-file");
    if (!password) return password;
    return who.username + ":" + *password;
}

Result<std::shared_ptr<Handle>> Session::open() {
    try {
        auto words = digest();
        if (!words) return std::move(words).error();
        auto made = std::make_shared<Handle>([this] { wake(); });
        if (made->open(hosts_, options_->session_timeout, *words)) return made;
        return Error(ErrorKind::unavailable, "the names of ZooKeeper's servers can't be looked up", {},
                     "check the hosts of `lock.address` and the name service")
            .with_code("zookeeper-connect");
    } catch (const std::exception& thrown) {
        return Error(ErrorKind::unavailable, "no resources for a session with ZooKeeper", thrown.what());
    }
}

void Session::give_up_the_dead(std::unique_lock<std::mutex>& lock) {
    const auto dead = std::exchange(handle_, nullptr);
    if (dead->state() == Handle::State::refused) {
        fault_ = error_of(ZAUTHFAILED, true, false);
        next_try_ = Clock::now() + retry_pause;
    }
    lock.unlock();
    dead->shut();
    lock.lock();
}

void Session::keep() {
    std::unique_lock lock(mutex_);
    auto next_chore = Clock::now() + chore_pause;
    while (!ended_) {
        see();
        const auto now = Clock::now();
        if (handle_ && handle_->state() >= Handle::State::expired) {
            give_up_the_dead(lock);
        } else if (!handle_ && now >= next_try_) {
            lock.unlock();
            auto made = open();
            lock.lock();
            next_try_ = Clock::now() + retry_pause;
            if (made) {
                handle_ = *std::move(made);
                // A refused log-in stays the reason until one counts.
                if (fault_ && fault_->kind() == ErrorKind::unavailable) fault_.reset();
            } else {
                fault_ = std::move(made).error();
            }
            changed_.notify_all();  // it may be connected by now
        } else if (was_connected_ && now >= next_chore) {
            lock.unlock();
            chore_(*this);
            lock.lock();
            next_chore = Clock::now() + chore_pause;
        } else if (handle_ && !was_connected_) {
            changed_.wait(lock);
        } else {
            changed_.wait_until(lock, handle_ ? next_chore : next_try_);
        }
    }
    if (const auto last = std::exchange(handle_, nullptr)) {
        lock.unlock();
        last->shut();
        lock.lock();
    }
    kept_ = true;
    changed_.notify_all();
}

void Session::end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    if (!keeper_.joinable()) return;
    // A name server that hangs holds the client up for as long as it likes; then the thread ends after us.
    const bool ended = changed_.wait_for(lock, longest_end, [&] { return kept_; });
    lock.unlock();
    if (ended)
        keeper_.join();
    else
        keeper_.detach();
}

}  // namespace nebis::zookeeper
