// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <zookeeper/zookeeper.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace nebis::zookeeper {

/// What came back for a request.
struct Reply {
    bool sent = false;  ///< false: it surely never left
    bool came = false;  ///< false: not in time
    int code = ZOK;
    std::string value;         ///< of a look
    std::int32_t version = 0;  ///< of a look
    std::int64_t session = 0;  ///< of a look: whose ephemeral node it is; 0: nobody's
};

/// One request under way. The client holds its address until it has called back.
struct Call {
    class Handle* handle = nullptr;
    bool done = false;
    Reply reply;
    std::condition_variable ready;
    zoo_op_result_t results[2] = {};  ///< written by the client, of a multi
};

/// One handle of the client, which is one session with two threads of the client's. **Threads**: safe.
class Handle {
public:
    enum class State : std::uint8_t {
        connecting,
        connected,
        expired,  ///< the servers have ended it, and its nodes are gone
        refused,  ///< by a log-in that doesn't count
    };
    /// Asks the client; its own code.
    using Send = std::function<int(zhandle_t*, Call*)>;

    /// `changed` is called after each change of state, by a thread of the client's.
    explicit Handle(std::function<void()> changed) : changed_(std::move(changed)) {}
    ~Handle() = default;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    /// `digest`: "user:password" or empty. False: names can't be looked up, which takes the time it takes.
    bool open(const std::string& hosts, std::chrono::milliseconds session_timeout, const std::string& digest);
    /// Once after `open`, before it is destroyed: ends the session, tells the waiting. Takes the client's time: some
    /// seconds, or as long as a name is being looked up.
    void shut();

    State state() const;
    std::int64_t session() const;
    Reply ask(const Send& send, Deadline deadline);

    // ---- for the client: the ends of requests
    static void ended(int code, const void* call);
    static void ended_with_path(int code, const char*, const void* call);
    static void ended_with_stat(int code, const Stat*, const void* call);
    static void ended_with_data(int code, const char* value, int size, const Stat* stat, const void* call);

private:
    static void watch(zhandle_t* client, int type, int state, const char*, void* self);
    static Reply reply_of(int code);
    void finish(const Call* call, Reply reply);

    const std::function<void()> changed_;
    mutable std::mutex mutex_;  ///< never held while the client looks up, waits or calls back
    zhandle_t* client_ = nullptr;
    State state_ = State::connecting;
    std::int64_t session_ = 0;
    std::unordered_map<const Call*, std::shared_ptr<Call>> open_;
};

}  // namespace nebis::zookeeper
