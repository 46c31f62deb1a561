// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace nebis::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr asio::use_awaitable_t<Io> use_task;
constexpr std::size_t read_size = 16 * 1024;
constexpr std::size_t linger_bytes = 4 * 1024 * 1024;
constexpr std::chrono::seconds linger_time{2};
constexpr std::string_view go_on_text = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr char tls_handshake = 0x16;

std::string_view text_of(const beast::flat_buffer& buffer) {
    return {static_cast<const char*>(buffer.data().data()), buffer.data().size()};
}

/// What the parser stumbled over, once the scanner has let the head pass.
Fault fault_of(const error_code& code) {
    using Error = beast::http::error;
    if (code == Error::bad_version) return {"version-not-supported", {}};
    if (code == Error::body_limit) return {"body-too-large", {}};
    return {"bad-request", "the parser says: " + code.message()};
}

/// A method is letters; what begins otherwise is no HTTP at all.
bool begins_a_request(char c) noexcept { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

Connection::Connection(std::shared_ptr<Worker> worker, std::shared_ptr<Common> common, Socket socket,
                       std::shared_ptr<Site> site, const WireOptions& options)
    : worker_(*worker),
      worker_alive_(worker),
      common_(std::move(common)),
      socket_(std::move(socket)),
      site_(std::move(site)),
      options_(options),
      wake_(worker->io.get_executor()) {}

// ---- the life of a connection --------------------------------------------------------------------

Task<> Connection::run(std::shared_ptr<Connection> self, bool turned_away) {
    self->worker_.connections.insert(self.get());
    if (self->common_->stopping) self->last_ = true;  // it came while the others were told
    error_code ignored;
    self->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    self->socket_.non_blocking(true, ignored);
    try {
        if (turned_away) {
            self->refuse("overloaded", "The server has as many connections as it takes.");
            if (self->write(false) == Progress::done) co_await self->linger();
        } else {
            co_await self->serve();
        }
    } catch (const std::exception& failure) {
        self->site_->log(std::string("a connection ended by a fault: ") + failure.what());
    }
    self->gone_.request_stop();
    self->socket_.close(ignored);
    self->worker_.connections.erase(self.get());
    self->common_->open.fetch_sub(1);
}

Task<> Connection::serve() {
    for (;;) {
        parser_.reset();
        auto verdict = co_await read_head();
        if (verdict == Verdict::go_on) {
            const auto progress = parse_body();  // most requests came in one piece
            if (progress == Progress::failed) verdict = Verdict::refuse;
            if (progress == Progress::more) verdict = co_await read_body();
        }
        if (verdict == Verdict::end) co_return;
        if (verdict == Verdict::go_on) {
            ask();
            if (!answered_) co_await await_answer();
        }
        // Where the next request begins is known only when this one was read to its end.
        const bool whole = parser_ && parser_->is_done();
        const bool keep = keep_alive_ && whole && !common_->stopping && !last_ && !gone_.stop_requested();
        auto progress = write(keep);
        if (progress == Progress::more) progress = co_await write_rest() ? Progress::done : Progress::failed;
        if (progress == Progress::failed) co_return;
        if (keep) continue;
        if (!whole || received_.size() > 0) co_await linger();
        co_return;
    }
}

void Connection::wait(Waiting what) {
    waiting_ = what;
    too_late_ = false;
    switch (what) {
        case Waiting::for_request: deadline_ = Clock::now() + options_.idle_timeout; break;
        case Waiting::for_bytes: deadline_ = Clock::now() + options_.read_timeout; break;
        case Waiting::for_answer: deadline_ = Clock::time_point::max(); break;  // the engine keeps that time
        case Waiting::for_room: deadline_ = Clock::now() + options_.write_timeout; break;
        case Waiting::for_end: deadline_ = Clock::now() + linger_time; break;
    }
}

void Connection::look_at_clock(Clock::time_point now) {
    if (too_late_ || now < deadline_) return;
    too_late_ = true;
    error_code ignored;
    socket_.cancel(ignored);
}

void Connection::last_request() {
    last_ = true;
    error_code ignored;
    if (waiting_ == Waiting::for_request) socket_.cancel(ignored);
}

// ---- reading -------------------------------------------------------------------------------------

Task<bool> Connection::read_more() {
    if (too_late_ || (last_ && waiting_ == Waiting::for_request)) co_return false;
    const auto room = received_.prepare(read_size);
    const auto [code, size] = co_await socket_.async_read_some(room, asio::as_tuple(use_task));
    received_.commit(size);
    co_return !code;
}

Task<Connection::Verdict> Connection::read_head() {
    HeadScanner scanner(options_.head);
    bool began = false;
    wait(Waiting::for_request);
    for (;;) {
        if (!began && text_of(received_).starts_with("\r\n")) received_.consume(2);  // left over by careless clients
        const auto text = text_of(received_);
        if (!text.empty() && text != "\r") {
            if (!began) {
                began = true;
                wait(Waiting::for_bytes);
                if (text.front() == tls_handshake) {
                    site_->log("a client speaks TLS on a plain port; closed");
                    co_return Verdict::end;
                }
                if (!begins_a_request(text.front())) co_return refuse("bad-request", "this isn't HTTP");
            }
            const auto found = scanner.scan(text);
            if (const auto* size = std::get_if<std::size_t>(&found)) co_return take_head(*size);
            if (const auto* fault = std::get_if<Fault>(&found)) co_return refuse(fault->word, fault->detail);
        }
        if (co_await read_more()) continue;
        co_return began ? too_slow() : Verdict::end;
    }
}

Connection::Verdict Connection::too_slow() {
    return too_late_ ? refuse("request-timeout", {})
                     : Verdict::end;  // what came is half a request, of a client that has gone
}

Connection::Verdict Connection::refuse(std::string_view word, std::string_view detail) {
    outgoing_ = site_->refuse(word, detail);
    return Verdict::refuse;
}

/// The head is whole: from bytes to a request that the site may admit.
Connection::Verdict Connection::take_head(std::size_t size) {
    parser_.emplace();
    parser_->header_limit(std::numeric_limits<std::uint32_t>::max());  // the scanner has counted
    parser_->body_limit(boost::none);
    error_code code;
    received_.consume(parser_->put(asio::const_buffer(received_.data().data(), size), code));
    if (code || !parser_->is_header_done()) {
        parser_.reset();
        const auto fault = fault_of(code);
        return refuse(fault.word, fault.detail);
    }
    const auto& message = parser_->get();
    incoming_ = Incoming();
    auto& request = incoming_.request;
    request.method = std::string(message.method_string());
    for (const auto& field : message)
        request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    version_ = message.version();
    to_head_ = request.method == "HEAD";
    keep_alive_ = parser_->keep_alive();
    const bool known = message.method() != beast::http::verb::unknown;
    const Head head{known ? std::string_view(request.method) : std::string_view{},
                    {message.target().data(), message.target().size()},
                    version_,
                    &request.headers};
    auto checked = check_head(head);
    if (const auto* fault = std::get_if<Fault>(&checked)) {
        keep_alive_ = false;
        return refuse(fault->word, fault->detail);
    }
    auto& facts = std::get<HeadFacts>(checked);
    request.path = std::move(facts.target.path);
    request.query = std::move(facts.target.query);
    request.content_type = std::move(facts.content_type);
    expects_continue_ = facts.expects_continue && !parser_->is_done();
    if (auto refusal = site_->admit(incoming_)) {
        outgoing_ = std::move(*refusal);
        return Verdict::refuse;
    }
    const auto limit = incoming_.body_limit;
    if (facts.content_length.value_or(0) > limit)
        return refuse("body-too-large", "At most " + std::to_string(limit) + " bytes are taken.");
    parser_->body_limit(limit);
    parser_->eager(true);
    return Verdict::go_on;
}

/// As far as the bytes reach that are here.
Connection::Progress Connection::parse_body() {
    error_code code;
    while (!parser_->is_done() && received_.size() > 0) {
        received_.consume(parser_->put(received_.data(), code));
        if (code == beast::http::error::need_more) return Progress::more;
        if (code) {
            const auto fault = fault_of(code);
            refuse(fault.word, fault.word == "body-too-large"
                                   ? "At most " + std::to_string(incoming_.body_limit) + " bytes are taken."
                                   : fault.detail);
            return Progress::failed;
        }
    }
    return parser_->is_done() ? Progress::done : Progress::more;
}

Task<Connection::Verdict> Connection::read_body() {
    wait(Waiting::for_bytes);
    if (expects_continue_ && received_.size() == 0) {
        const auto text = asio::buffer(go_on_text);
        const auto [code, size] = co_await asio::async_write(socket_, text, asio::as_tuple(use_task));
        if (code) co_return Verdict::end;
    }
    for (;;) {
        if (!co_await read_more()) co_return too_slow();
        const auto progress = parse_body();
        if (progress == Progress::done) co_return Verdict::go_on;
        if (progress == Progress::failed) co_return Verdict::refuse;
    }
}

// ---- answering -----------------------------------------------------------------------------------

void Connection::ask() {
    wait(Waiting::for_answer);
    answered_ = false;
    incoming_.request.body = std::move(parser_->get().body());
    incoming_.gone = gone_.get_token();
    site_->serve(std::move(incoming_), [alive = worker_alive_, self = weak_from_this()](Response response) {
        const auto worker = alive.lock();
        if (!worker) return;  // the server is gone, and the client with it
        if (worker->io.get_executor().running_in_this_thread()) {
            if (const auto connection = self.lock()) connection->answered(std::move(response));
            return;
        }
        asio::post(worker->io, [self, response = std::move(response)]() mutable {
            if (const auto connection = self.lock()) connection->answered(std::move(response));
        });
    });
}

void Connection::answered(Response response) {
    if (std::exchange(answered_, true)) return;
    outgoing_ = std::move(response);
    wake_.cancel();
}

Task<> Connection::await_answer() {
    watch_for_hang_up();
    while (!answered_) {
        wake_.expires_at(Clock::time_point::max());
        co_await wake_.async_wait(asio::as_tuple(use_task));
    }
    error_code ignored;
    socket_.cancel(ignored);  // the watch
}

/// A client that hangs up cancels nothing that runs (C25); but if its request waits as a duplicate, nobody waits any
/// more (B062).
void Connection::watch_for_hang_up() {
    socket_.async_wait(Socket::wait_read, [weak = weak_from_this()](const error_code& failed) {
        const auto self = weak.lock();
        if (failed || !self || self->answered_) return;
        std::array<char, 1> byte;
        error_code code;
        const auto size = self->socket_.receive(asio::buffer(byte), Socket::message_peek, code);
        if (code == asio::error::would_block) return self->watch_for_hang_up();
        if (code || size == 0) self->gone_.request_stop();
        // else it is the next request already: no more can be seen from here
    });
}

// ---- writing -------------------------------------------------------------------------------------

/// Most answers fit into the socket's buffer: written at once, without a turn through the event loop.
Connection::Progress Connection::write(bool keep_alive) {
    wait(Waiting::for_room);
    head_ = response_head(outgoing_, keep_alive, version_);
    if (!has_body(outgoing_.status, to_head_ ? "HEAD" : "")) outgoing_.body.clear();
    const std::array<asio::const_buffer, 2> bytes{asio::buffer(head_), asio::buffer(outgoing_.body)};
    error_code code;
    written_ = socket_.write_some(bytes, code);
    if (code && code != asio::error::would_block) return Progress::failed;
    return written_ == head_.size() + outgoing_.body.size() ? Progress::done : Progress::more;
}

Task<bool> Connection::write_rest() {
    const auto head_part = std::min(written_, head_.size());
    const std::array<asio::const_buffer, 2> bytes{asio::buffer(head_) + head_part,
                                                  asio::buffer(outgoing_.body) + (written_ - head_part)};
    const auto [code, size] = co_await asio::async_write(socket_, bytes, asio::as_tuple(use_task));
    co_return !code;
}

/// Closing with unread bytes would reset the connection, and the answer could be lost on its way (RFC 9112, 9.6).
Task<> Connection::linger() {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    wait(Waiting::for_end);
    for (std::size_t dropped = 0; dropped < linger_bytes;) {
        received_.clear();
        if (!co_await read_more()) co_return;
        dropped += received_.size();
    }
}

}  // namespace nebis::http
