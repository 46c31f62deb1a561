// SPDX-License-Identifier: Apache-2.0
#include "fault_proxy.hpp"

#include "link.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nebis::faultproxy {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::size_t most_connections = 1024;
constexpr std::size_t most_losses = 64;
constexpr std::chrono::milliseconds longest_delay{60'000};
constexpr std::chrono::milliseconds accept_pause{50};

}  // namespace

class FaultProxy::Impl {
public:
    Impl(std::uint16_t server_port, const std::string& host, std::uint16_t listen)
        : server_(asio::ip::make_address(host), server_port),
          acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), listen)),
          port_(acceptor_.local_endpoint().port()),
          accept_timer_(io_) {
        accept();
        thread_ = std::thread([this] { io_.run(); });
    }

    ~Impl() {
        on_thread([this] {
            for (const auto& link : all()) link->reset();
            io_.stop();
        });
        thread_.join();
    }

    /// Runs it on the proxy's thread; returns when it has.
    template <class Step>
    void on_thread(Step step) {
        std::promise<void> done;
        asio::post(io_, [&] {
            step();
            done.set_value();
        });
        done.get_future().wait();
    }
    /// The same for a change that those who wait are to hear of.
    template <class Step>
    void change(Step step) {
        on_thread([&] {
            step();
            for (const auto& link : all()) link->wake();
        });
    }
    /// A copy: links leave while they are walked over.
    std::vector<std::shared_ptr<Link>> all() const { return {links_.begin(), links_.end()}; }
    std::uint16_t port() const noexcept { return port_; }
    Plan& plan() noexcept { return plan_; }

private:
    void accept() {
        acceptor_.async_accept([this](Link::Code code, tcp::socket client) {
            if (!code) {
                begin(std::move(client));
                return accept();
            }
            // Out of descriptors, as a rule: that passes.
            accept_timer_.expires_after(accept_pause);
            accept_timer_.async_wait([this](Link::Code) { accept(); });
        });
    }

    void begin(tcp::socket client) {
        Link::Code code;
        if (links_.size() >= most_connections) {
            client.set_option(asio::socket_base::linger(true, 0), code);
            return;
        }
        auto link =
            std::make_shared<Link>(std::move(client), server_, plan_, [this](const std::shared_ptr<Link>& gone) {
                links_.erase(gone);
                plan_.tally.change([](Counts& counts) { --counts.open; });
            });
        links_.insert(link);
        plan_.tally.change([](Counts& counts) { ++counts.connections, ++counts.open; });
        link->start();
    }

    Plan plan_;
    asio::io_context io_{1};
    const tcp::endpoint server_;
    tcp::acceptor acceptor_;
    const std::uint16_t port_;
    asio::steady_timer accept_timer_;
    std::set<std::shared_ptr<Link>> links_;
    std::thread thread_;
};

FaultProxy::FaultProxy(std::uint16_t server_port, const std::string& host, std::uint16_t listen) {
    try {
        impl_ = std::make_unique<Impl>(server_port, host, listen);
    } catch (const boost::system::system_error& failed) {
        throw std::system_error(failed.code(),
                                "the proxy can't stand at port " + std::to_string(listen) + " in front of " + host);
    }
}
FaultProxy::~FaultProxy() = default;

std::uint16_t FaultProxy::port() const noexcept { return impl_->port(); }
std::string FaultProxy::address() const { return "127.0.0.1:" + std::to_string(port()); }

void FaultProxy::set(Way way, const Faults& faults) {
    if (faults.delay < std::chrono::milliseconds::zero() || faults.delay > longest_delay)
        throw std::invalid_argument("a delay is 0 to 60000 ms");
    impl_->change([&] { impl_->plan().faults[static_cast<std::size_t>(way)] = faults; });
}

Faults FaultProxy::faults(Way way) const {
    Faults now;
    impl_->on_thread([&] { now = impl_->plan().of(way); });
    return now;
}

void FaultProxy::black_hole(bool on) {
    impl_->change([&] { impl_->plan().black_hole = on; });
}

void FaultProxy::lose_reply_to(const std::string& marker, After after, unsigned nth) {
    if (marker.empty() || marker.size() > longest_marker) throw std::invalid_argument("a marker has 1 to 256 bytes");
    if (nth == 0) throw std::invalid_argument("requests are counted from 1");
    bool room = true;
    impl_->on_thread([&] {
        room = impl_->plan().losses.size() < most_losses;
        if (room) impl_->plan().losses.push_back({marker, after, nth});
    });
    if (!room) throw std::invalid_argument("64 replies wait to be lost already");
}

void FaultProxy::lose_next_reply(After after) {
    bool room = true;
    impl_->on_thread([&] {
        room = impl_->plan().losses.size() < most_losses;
        if (room) impl_->plan().losses.push_back({{}, after, 1});
    });
    if (!room) throw std::invalid_argument("64 replies wait to be lost already");
}

void FaultProxy::cut() {
    impl_->on_thread([&] {
        for (const auto& link : impl_->all()) link->cut();
    });
}

void FaultProxy::reset() {
    impl_->on_thread([&] {
        for (const auto& link : impl_->all()) link->reset();
    });
}

void FaultProxy::heal() {
    impl_->change([&] {
        Plan& plan = impl_->plan();
        plan.faults = {};
        plan.black_hole = false;
        plan.losses.clear();
    });
}

Counts FaultProxy::counts() const { return impl_->plan().tally.now(); }

bool FaultProxy::wait_until(const std::function<bool(const Counts&)>& holds, std::chrono::milliseconds longest) const {
    return impl_->plan().tally.wait_until(holds, longest);
}

}  // namespace nebis::faultproxy
