// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conversation.hpp"
#include "plan.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <functional>
#include <memory>

namespace nebis::faultproxy {

/// One client's connection and the one to the server that belongs to it. Lives on the proxy's thread; whoever has an
/// operation under way keeps it alive.
class Link : public std::enable_shared_from_this<Link> {
public:
    using tcp = boost::asio::ip::tcp;
    using Code = boost::system::error_code;
    using Clock = std::chrono::steady_clock;
    using Ended = std::function<void(const std::shared_ptr<Link>&)>;

    Link(tcp::socket client, tcp::endpoint server, Plan& plan, Ended ended);
    void start() { wake(); }
    void wake();  ///< the plan has changed
    void cut();
    void reset();

private:
    /// One way. At any time it reads, writes or waits: never two of them.
    struct Pump {
        Pump(Way way, tcp::socket& from, tcp::socket& to) : way(way), from(from), to(to), timer(from.get_executor()) {}
        const Way way;
        tcp::socket& from;
        tcp::socket& to;
        boost::asio::steady_timer timer;
        std::array<char, 16 * 1024> bytes{};
        std::size_t size = 0, sent = 0;
        Code end;  ///< of the stream, once it came
        bool ended = false;
        Clock::time_point arrived, last_sent;
        std::size_t last_piece = 0;
    };

    void connect();
    void connected(Code code);
    void step(Pump& pump);
    void read(Pump& pump);
    void arrived(Pump& pump, Code code, std::size_t size);
    void write(Pump& pump);
    void finish(Pump& pump);
    void wait(Pump& pump, Clock::time_point until);
    Clock::time_point due(const Pump& pump) const;
    bool close();

    Plan& plan_;
    const tcp::endpoint address_;
    tcp::socket client_, server_;
    Pump to_server_, to_client_;
    boost::asio::steady_timer connect_timer_;
    Conversation conversation_;
    Ended ended_;
    bool begun_ = false, closed_ = false;
};

}  // namespace nebis::faultproxy
