// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <utility>

namespace nebis::faultproxy {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds longest_connect{5'000};
constexpr milliseconds between_slices{1};
constexpr int pieces_per_second = 20;  ///< of a throttled way
constexpr std::chrono::hours black_hole_nap{1};

/// Closed with bytes unread, a socket would answer with RST.
void close_orderly(Link::tcp::socket& socket) {
    Link::Code code;
    std::array<char, 16 * 1024> bytes;  // NOLINT: filled by read_some, and nobody looks
    for (int round = 0; round < 64 && socket.available(code) > 0 && !code; ++round)
        socket.read_some(asio::buffer(bytes), code);
    socket.shutdown(Link::tcp::socket::shutdown_both, code);
    socket.close(code);
}

void close_abruptly(Link::tcp::socket& socket) {
    Link::Code code;
    socket.set_option(asio::socket_base::linger(true, 0), code);
    socket.close(code);
}

}  // namespace

Link::Link(tcp::socket client, tcp::endpoint server, Plan& plan, Ended ended)
    : plan_(plan),
      address_(std::move(server)),
      client_(std::move(client)),
      server_(client_.get_executor()),
      to_server_(Way::to_server, client_, server_),
      to_client_(Way::to_client, server_, client_),
      connect_timer_(client_.get_executor()),
      conversation_(plan),
      ended_(std::move(ended)) {}

void Link::wake() {
    if (closed_) return;
    if (!begun_ && !plan_.black_hole) connect();
    // Whoever waits looks anew.
    to_server_.timer.cancel();
    to_client_.timer.cancel();
}

void Link::connect() {
    begun_ = true;
    connect_timer_.expires_after(longest_connect);
    connect_timer_.async_wait([self = shared_from_this()](Code code) {
        if (!code) self->reset();
    });
    server_.async_connect(address_, [self = shared_from_this()](Code code) { self->connected(code); });
}

void Link::connected(Code code) {
    if (closed_) return;
    connect_timer_.cancel();
    if (code) return reset();
    // Small pieces are to arrive as such.
    client_.set_option(tcp::no_delay(true), code);
    server_.set_option(tcp::no_delay(true), code);
    step(to_server_);
    if (!closed_) step(to_client_);
}

void Link::step(Pump& pump) {
    if (closed_) return;
    const auto now = Clock::now();
    if (plan_.black_hole) return wait(pump, now + black_hole_nap);
    if (plan_.of(pump.way).drop && pump.sent < pump.size) {
        plan_.tally.change([&](Counts& counts) { counts.swallowed_bytes += pump.size - pump.sent; });
        pump.sent = pump.size;
    }
    if (pump.sent == pump.size && !pump.end) return read(pump);
    if (const auto until = due(pump); now < until) return wait(pump, until);
    if (pump.sent == pump.size) return finish(pump);
    write(pump);
}

void Link::read(Pump& pump) {
    pump.from.async_read_some(
        asio::buffer(pump.bytes),
        [self = shared_from_this(), &pump](Code code, std::size_t size) { self->arrived(pump, code, size); });
}

void Link::arrived(Pump& pump, Code code, std::size_t size) {
    if (closed_) return;
    pump.arrived = Clock::now();
    pump.size = size;
    pump.sent = 0;
    pump.end = code;
    const std::string_view bytes(pump.bytes.data(), size);
    if (size > 0 && pump.way == Way::to_server) {
        conversation_.client_said(bytes);
    } else if (size > 0) {
        if (const auto after = conversation_.server_said(bytes)) {
            if (*after == After::cut) return cut();
            if (*after == After::reset) return reset();
            pump.sent = pump.size;
        }
    }
    step(pump);
}

/// When the next piece, or the end, may go.
Link::Clock::time_point Link::due(const Pump& pump) const {
    const Faults& faults = plan_.of(pump.way);
    auto at = pump.arrived + faults.delay;
    if (faults.slice > 0) at = std::max(at, pump.last_sent + between_slices);
    if (faults.bytes_per_second > 0) {
        const std::chrono::duration<double> takes(static_cast<double>(pump.last_piece) /
                                                  static_cast<double>(faults.bytes_per_second));
        at = std::max(at, pump.last_sent + std::chrono::duration_cast<Clock::duration>(takes));
    }
    return at;
}

void Link::write(Pump& pump) {
    const Faults& faults = plan_.of(pump.way);
    std::size_t piece = pump.size - pump.sent;
    if (faults.slice > 0) piece = std::min(piece, faults.slice);
    if (faults.bytes_per_second > 0)
        piece = std::min(piece, std::max<std::size_t>(1, faults.bytes_per_second / pieces_per_second));
    asio::async_write(pump.to, asio::buffer(pump.bytes.data() + pump.sent, piece),
                      [self = shared_from_this(), &pump](Code code, std::size_t size) {
                          if (self->closed_) return;
                          if (code) return self->reset();
                          pump.sent += size;
                          pump.last_piece = size;
                          pump.last_sent = Clock::now();
                          self->step(pump);
                      });
}

/// The end of one way is passed on; the other way may go on.
void Link::finish(Pump& pump) {
    if (pump.end != asio::error::eof) return reset();
    pump.ended = true;
    Code code;
    pump.to.shutdown(tcp::socket::shutdown_send, code);
    if (to_server_.ended && to_client_.ended) cut();
}

void Link::wait(Pump& pump, Clock::time_point until) {
    pump.timer.expires_at(until);
    pump.timer.async_wait([self = shared_from_this(), &pump](Code) { self->step(pump); });
}

bool Link::close() {
    if (closed_) return false;
    closed_ = true;
    to_server_.timer.cancel();
    to_client_.timer.cancel();
    connect_timer_.cancel();
    return true;
}

void Link::cut() {
    if (!close()) return;
    close_orderly(client_);
    close_orderly(server_);
    ended_(shared_from_this());
}

void Link::reset() {
    if (!close()) return;
    close_abruptly(client_);
    close_abruptly(server_);
    ended_(shared_from_this());
}

}  // namespace nebis::faultproxy
