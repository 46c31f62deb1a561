// SPDX-License-Identifier: Apache-2.0
#include "handle.hpp"

#include <new>
#include <utility>

namespace nebis::zookeeper {
namespace {

void say_nothing(const char*) {}      // the client would write to stderr
void auth_ended(int, const void*) {}  // what a refused log-in means, the state says

}  // namespace

bool Handle::open(const std::string& hosts, std::chrono::milliseconds session_timeout, const std::string& digest) {
    zhandle_t* const made = ::zookeeper_init2(hosts.c_str(), &Handle::watch, static_cast<int>(session_timeout.count()),
                                              nullptr, this, ZOO_NO_LOG_CLIENTENV, &say_nothing);
    if (!made) return false;
    // Kept by the client, and said first on each connection.
    if (!digest.empty())
        (void)::zoo_add_auth(made, "digest", digest.data(), static_cast<int>(digest.size()), &auth_ended, nullptr);
    const std::lock_guard lock(mutex_);
    client_ = made;
    return true;
}

void Handle::shut() {
    zhandle_t* client = nullptr;
    {
        const std::lock_guard lock(mutex_);
        client = std::exchange(client_, nullptr);
    }
    if (!client) return;
    ::zookeeper_close(client);
    // The client forgets requests that were queued while it gave up the session.
    const std::lock_guard lock(mutex_);
    for (auto& [address, call] : open_) {
        call->reply = reply_of(ZCLOSING);
        call->done = true;
        call->ready.notify_all();
    }
    open_.clear();
}

Handle::State Handle::state() const {
    const std::lock_guard lock(mutex_);
    return state_;
}

std::int64_t Handle::session() const {
    const std::lock_guard lock(mutex_);
    return session_;
}

Reply Handle::ask(const Send& send, Deadline deadline) {
    const auto call = std::make_shared<Call>();
    call->handle = this;
    Reply unsent;
    std::unique_lock lock(mutex_);
    if (!client_ || state_ != State::connected) {
        unsent.came = true;
        unsent.code = ZINVALIDSTATE;  // the client would queue it, and send it whenever
        return unsent;
    }
    open_.emplace(call.get(), call);
    if (const int code = send(client_, call.get()); code != ZOK) {
        open_.erase(call.get());
        unsent.came = true;
        unsent.code = code;
        return unsent;
    }
    call->ready.wait_until(lock, deadline, [&] { return call->done; });
    call->reply.sent = true;
    return call->reply;
}

void Handle::watch(zhandle_t* client, int type, int state, const char*, void* self) {
    if (type != ZOO_SESSION_EVENT) return;
    auto& mine = *static_cast<Handle*>(self);
    {
        const std::lock_guard lock(mine.mutex_);
        if (state == ZOO_CONNECTED_STATE) {
            mine.state_ = State::connected;
            mine.session_ = ::zoo_client_id(client)->client_id;
        } else {
            mine.state_ = state == ZOO_EXPIRED_SESSION_STATE ? State::expired
                          : state == ZOO_AUTH_FAILED_STATE   ? State::refused
                                                             : State::connecting;
        }
    }
    mine.changed_();
}

Reply Handle::reply_of(int code) {
    Reply reply;
    reply.sent = reply.came = true;
    reply.code = code;
    return reply;
}

void Handle::finish(const Call* call, Reply reply) {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(call);
    if (at == open_.end()) return;
    at->second->reply = std::move(reply);
    at->second->done = true;
    at->second->ready.notify_all();
    open_.erase(at);
}

void Handle::ended(int code, const void* data) {
    const auto* const call = static_cast<const Call*>(data);
    call->handle->finish(call, reply_of(code));
}

void Handle::ended_with_path(int code, const char*, const void* call) { ended(code, call); }

void Handle::ended_with_stat(int code, const Stat*, const void* call) { ended(code, call); }

void Handle::ended_with_data(int code, const char* value, int size, const Stat* stat, const void* data) {
    const auto* const call = static_cast<const Call*>(data);
    Reply reply = reply_of(code);
    if (code == ZOK && stat) {
        try {
            if (value && size > 0) reply.value.assign(value, static_cast<std::size_t>(size));
        } catch (const std::bad_alloc&) {  // nothing may be thrown into the client
            reply.code = ZSYSTEMERROR;
        }
        reply.version = stat->version;
        reply.session = stat->ephemeralOwner;
    }
    call->handle->finish(call, std::move(reply));
}

}  // namespace nebis::zookeeper
