// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "message.hpp"
#include "site.hpp"
#include "wire.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

namespace nebis::http {

using Io = boost::asio::io_context::executor_type;
template <class T = void>
using Task = boost::asio::awaitable<T, Io>;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Io>;
using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                boost::asio::wait_traits<std::chrono::steady_clock>, Io>;

class Connection;

/// What the connections of a server share, whatever thread they live on.
struct Common {
    std::atomic<std::size_t> open = 0;   ///< connections
    std::atomic<bool> stopping = false;  ///< set before any connection is told: no answer invites another request
};

/// One I/O thread with its connections; nothing on it is locked, since nobody else touches them.
struct Worker {
    boost::asio::io_context io{1};
    std::set<Connection*> connections;
    std::thread thread;
};

/// One client. A coroutine reads a request, waits for its answer, writes it, and so on; all of it on the thread of its
/// worker.
class Connection : public std::enable_shared_from_this<Connection> {
public:
    Connection(std::shared_ptr<Worker> worker, std::shared_ptr<Common> common, Socket socket,
               std::shared_ptr<Site> site, const WireOptions& options);

    /// Until the client or the server has had enough. `turned_away`: tell the client that there are too many
    /// connections, and close.
    static Task<> run(std::shared_ptr<Connection> self, bool turned_away);
    /// Called now and then by the worker: ends what took too long. One look at each connection is cheaper than a timer
    /// for each step.
    void look_at_clock(std::chrono::steady_clock::time_point now);
    /// No further request: an idle connection ends now, a busy one after its answer.
    void last_request();

private:
    using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
    enum class Verdict {
        go_on,
        refuse,
        end
    };  ///< what follows reading: an answer, `outgoing_` as a refusal, or nothing
    enum class Progress { done, more, failed };
    enum class Waiting { for_request, for_bytes, for_answer, for_room, for_end };

    Task<> serve();
    Task<Verdict> read_head();
    Task<Verdict> read_body();
    Task<bool> read_more();
    Task<> await_answer();
    Task<bool> write_rest();
    Task<> linger();

    Verdict take_head(std::size_t size);
    Progress parse_body();
    Verdict refuse(std::string_view word, std::string_view detail);
    Verdict too_slow();
    void ask();
    void answered(Response response);
    void watch_for_hang_up();
    Progress write(bool keep_alive);
    void wait(Waiting what);

    Worker& worker_;  ///< owns the coroutine and so this; a strong reference would be a cycle
    std::weak_ptr<Worker> worker_alive_;
    std::shared_ptr<Common> common_;
    Socket socket_;
    std::shared_ptr<Site> site_;
    const WireOptions options_;

    boost::beast::flat_buffer received_;
    std::optional<Parser> parser_;
    Incoming incoming_;
    unsigned version_ = 11;
    bool to_head_ = false;           ///< the request is a HEAD
    bool expects_continue_ = false;  ///< and has not been told to go on
    bool keep_alive_ = false;

    Timer wake_;  ///< cancelled when the answer is there
    bool answered_ = false;
    std::stop_source gone_;

    Response outgoing_;
    std::string head_;         ///< of `outgoing_`, as written
    std::size_t written_ = 0;  ///< bytes of head and body

    Waiting waiting_ = Waiting::for_request;
    std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
    bool too_late_ = false;
    bool last_ = false;
};

}  // namespace nebis::http
