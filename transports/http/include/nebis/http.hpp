// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/engine.hpp"
#include "nebis/error.hpp"
#include "nebis/extend.hpp"
#include "nebis/policy.hpp"
#include "nebis/request.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// HTTP/1.1 in front of an Engine: a server whose routes are idempotent, and the pieces it is made of for programs that
/// have a server already (`nebis/http_beast.hpp` joins them to Boost.Beast).
///
/// What callers see is the table of docs/problems.md. Source: draft-ietf-httpapi-idempotency-key-header, RFC 9457, RFC
/// 9110, RFC 9112.
namespace nebis::http {

using nebis::Request;

/// What a handler answers. The first caller gets all of it; duplicates get status, body, and those headers that may be
/// replayed.
struct Reply {
    int status = 200;
    std::string body = {};
    std::vector<Header> headers = {};
};

/// The verified caller: enters the scope of the key, so that nobody meets another's record.
struct Principal {
    std::string name;
    std::string tenant = {};
};

/// What a status says about the effect, when a handler *returns* it. Source: protocol, step 5: 408, 425, 429 and 503
/// with `Retry-After` are `not_executed` (the key may run again); 502, 504 and 503 without it are `unknown`; everything
/// else is `done` and kept.
Certainty certainty_of(const Reply& reply) noexcept;

/// How answers look on the wire. A plain value.
struct Presentation {
    /// Where people read about the problems; `Link: <…#word>; rel="describedby"`. Empty: no link.
    std::string documentation_url = {};
    /// What `type` begins with; clients program against it, so choose it once. The word of docs/problems.md follows.
    std::string problem_type_base = "urn:nebis:problem:";
    /// The header that marks a replay; its value is "true".
    std::string replayed_header = "Idempotency-Replayed";
    /// Headers that are kept beyond Content-Type, Content-Language, Content-Disposition, Content-Location, ETag,
    /// Last-Modified, Link and Location. Set-Cookie, authentication challenges, framing and hop-by-hop headers are
    /// never kept, whatever stands here.
    std::vector<std::string> replay_headers = {};
    int in_progress_status = 409;  ///< the IETF draft's; others say 425 or 202
    int mismatch_status = 422;     ///< the IETF draft's; others say 409 or 400
    std::function<Certainty(const Reply&)> certainty = certainty_of;
    /// Between −1 and 1, spreads `Retry-After` by 20 %. Empty: random.
    std::function<double()> jitter = {};
};

/// One protected request between a transport and the engine: keeps what only the first caller may see, and turns the
/// engine's Answer into the response. A cheap handle.
///
/// **Threads**: `wrap`'s handler and `respond` in the order in which the engine calls them. **Lifetime**:
/// self-contained.
class Exchange {
public:
    explicit Exchange(std::shared_ptr<const Presentation> presentation);

    /// The handler to give to the engine. **Errors**: `misconfigured` (thrown) for `Handler::later`, whose reply can't
    /// be looked at.
    Handler wrap(std::shared_ptr<const Handler> handler) const;

    /// The response: status, headers in order, body. Framing (Content-Length, Connection, Date) is the transport's.
    Response respond(Answer answer) const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

/// A request from the parts that any HTTP parser has, held to the same rules as the server's own: one Host, one
/// unambiguous path, framing that nobody reads in two ways. `version` is 10 or 11. `request_id` is taken from
/// X-Request-Id if it is harmless.
/// **Errors**: `rejected_input`; its code is the word of the problem type. Nothing is known of the caller: set
/// `principal` yourself.
Result<Request> request_from(std::string_view method, std::string_view target, unsigned version,
                             std::vector<Header> headers, std::string body);

/// The problem response for an error, of `request_from` say.
Response problem_for(const Error& error, const Presentation& presentation, std::string_view request_id = {});

/// How a server listens and what it bounds. What is left unset is the configuration's (`http.*`), then the default of
/// the table of settings.
struct ServerOptions {
    std::string listen = {};                  ///< "127.0.0.1:8080"; port 0 takes a free one; "[::1]:8080"
    std::optional<std::size_t> threads = {};  ///< I/O threads
    std::size_t handler_threads = 64;         ///< handlers at once; threads are made as they are needed
    std::optional<std::size_t> max_connections = {};
    std::optional<std::size_t> max_header_bytes = {};  ///< start line and headers → 431
    std::size_t max_headers = 100;                     ///< lines → 431
    std::size_t max_target_bytes = 8 * 1024;           ///< → 414
    std::size_t max_body_bytes = 1024 * 1024;  ///< unprotected routes; protected ones: the operation's own → 413
    std::optional<std::chrono::milliseconds> read_timeout = {};  ///< header, then body, from its first byte on → 408
    std::optional<std::chrono::milliseconds> idle_timeout = {};  ///< between requests
    std::chrono::milliseconds write_timeout{30'000};
    std::chrono::milliseconds drain{10'000};  ///< longest wait of `stop`
    /// Where the server tells its callers the rules it keeps: its operations, their keys and retention, the problem
    /// types. Empty: nowhere.
    std::string documentation_path = "/idempotency";
    /// Who is asking. Runs on an I/O thread, before anything is looked up: authorization comes before replay. It must
    /// not block.
    /// **Errors**: code "forbidden" → 403, `unavailable` → 503, everything else → 401.
    std::function<Result<std::optional<Principal>>(const Request&)> principal = {};
    std::optional<Presentation> presentation = {};  ///< unset: made of the configuration's `http.*`
    std::function<void(const std::string& line)> log =
        {};  ///< what the wire refuses without an answer; unset: nothing is said
};

namespace detail {

inline Response to_response(Reply reply) {
    return {reply.status, std::move(reply.headers), std::move(reply.body), false};
}
inline Response to_response(Response response) { return response; }

template <class Fn>
Handler handler_of(Fn fn) {
    if constexpr (std::same_as<Fn, Handler>) {
        return fn;
    } else if constexpr (is_atomic<Fn>) {
        using Tx = typename Fn::transaction_type;
        auto body = std::make_shared<decltype(fn.body)>(std::move(fn.body));
        return Handler::atomic(std::move(fn.runner),
                               [body](const Request& request, void* opaque, Execution& execution) {
                                   auto transaction = static_cast<Tx>(opaque);
                                   if constexpr (std::is_invocable_v<decltype(*body), const Request&, Tx, Execution&>) {
                                       return to_response((*body)(request, transaction, execution));
                                   } else {
                                       static_assert(std::is_invocable_v<decltype(*body), const Request&, Tx>,
                                                     "nebis: an atomic HTTP handler is called as (const Request&, Tx) "
                                                     "or (const Request&, Tx, Execution&)");
                                       return to_response((*body)(request, transaction));
                                   }
                               });
    } else {
        auto body = std::make_shared<Fn>(std::move(fn));
        return Handler([body](const Request& request, Execution& execution) {
            if constexpr (std::is_invocable_v<Fn&, const Request&, Execution&>) {
                return to_response((*body)(request, execution));
            } else {
                static_assert(std::is_invocable_v<Fn&, const Request&>,
                              "nebis: an HTTP handler is called as (const Request&) or (const Request&, Execution&)");
                return to_response((*body)(request));
            }
        });
    }
}

}  // namespace detail

/// An HTTP/1.1 server. Routes are added first, then it runs.
///
/// A route is a path whose segments may be parameters: "/orders/{id}/lines"; `request.parameter("id")`. Its operation,
/// unless the policy names one, is "POST /orders/{id}/lines". Spellings of a path that mean the same (`//`, `/./`,
/// `%6F`, a last `/`) are one route; what is ambiguous (`;x=1`, `%2F`, `%00`, `..`) is refused. HEAD is answered by
/// GET's route; OPTIONS says what is allowed.
///
/// **Errors**: adding a route throws `IdempotentException` (`misconfigured`) for a policy that the engine refuses, or a
/// route that is there.
/// **Threads**: add routes from one thread, before `start`; `port` and `stop` from any. Handlers run on threads of the
/// server and may block; a duplicate that waits holds no thread. A client that hangs up cancels no handler.
/// **Lifetime**: the destructor stops. Handlers that still run after `drain` go on: what they use must outlive them.
class Server {
public:
    explicit Server(Engine engine, ServerOptions options = {});
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// A protected route: the policy, and a callable `Reply(const Request&)`, `Reply(const Request&, Execution&)` or
    /// `atomic(db, body)`.
    template <class Fn>
    void post(std::string_view route, const Policy& policy, Fn fn) {
        protect("POST", route, policy, detail::handler_of(std::move(fn)));
    }
    template <class Fn>
    void put(std::string_view route, const Policy& policy, Fn fn) {
        protect("PUT", route, policy, detail::handler_of(std::move(fn)));
    }
    template <class Fn>
    void patch(std::string_view route, const Policy& policy, Fn fn) {
        protect("PATCH", route, policy, detail::handler_of(std::move(fn)));
    }
    template <class Fn>
    void del(std::string_view route, const Policy& policy, Fn fn) {
        protect("DELETE", route, policy, detail::handler_of(std::move(fn)));
    }
    template <class Fn>
    void get(std::string_view route, const Policy& policy, Fn fn) {
        protect("GET", route, policy, detail::handler_of(std::move(fn)));
    }

    /// An unprotected route: `Reply(const Request&)`.
    template <class Fn>
    requires std::is_invocable_r_v<Reply, Fn&, const Request&>
    void get(std::string_view route, Fn fn) { pass("GET", route, std::move(fn)); }
    template <class Fn>
    requires std::is_invocable_r_v<Reply, Fn&, const Request&>
    void post(std::string_view route, Fn fn) { pass("POST", route, std::move(fn)); }
    template <class Fn>
    requires std::is_invocable_r_v<Reply, Fn&, const Request&>
    void put(std::string_view route, Fn fn) { pass("PUT", route, std::move(fn)); }
    template <class Fn>
    requires std::is_invocable_r_v<Reply, Fn&, const Request&>
    void patch(std::string_view route, Fn fn) { pass("PATCH", route, std::move(fn)); }
    template <class Fn>
    requires std::is_invocable_r_v<Reply, Fn&, const Request&>
    void del(std::string_view route, Fn fn) { pass("DELETE", route, std::move(fn)); }

    /// Any method, for what the five above don't name.
    Operation protect(std::string_view method, std::string_view route, Policy policy, Handler handler);
    void pass(std::string_view method, std::string_view route, std::function<Reply(const Request&)> handler);

    /// GET answers the engine's Prometheus text.
    void metrics(std::string_view route = "/metrics");
    /// GET answers 200 "ok" while requests are admitted, 503 once `stop` was called.
    void health(std::string_view route = "/healthz");

    /// Listen and serve in the background. **Errors**: `misconfigured` for an address that doesn't parse, `unavailable`
    /// when it can't be had.
    Result<void> start();
    /// The port that is listened on; 0 before `start`.
    std::uint16_t port() const noexcept;
    /// `start`, then serve until `stop`, SIGINT or SIGTERM. **Errors**: throws what `start` returns.
    void run();
    /// Take no more connections, let requests in hand end. **Time**: `drain` at most.
    void stop();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace nebis::http
