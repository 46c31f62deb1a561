// SPDX-License-Identifier: Apache-2.0
#include "wire.hpp"

#include "connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <mutex>
#include <vector>

namespace nebis::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr asio::use_awaitable_t<Io> use_task;
constexpr std::size_t turned_away_at_once = 64;  // beyond the bound; still more are closed without a word

Result<tcp::endpoint> endpoint_of(const std::string& listen) {
    const auto wrong = [&] {
        return Error(ErrorKind::misconfigured, "'" + listen + "' isn't an address to listen on", {},
                     "write host:port, \"127.0.0.1:8080\" or \"[::1]:8080\"");
    };
    const auto colon = listen.rfind(':');
    if (colon == std::string::npos) return wrong();
    auto host = listen.substr(0, colon);
    unsigned port = 0;
    const auto* const first = listen.data() + colon + 1;
    const auto* const last = listen.data() + listen.size();
    const auto [end, code] = std::from_chars(first, last, port);
    if (code != std::errc{} || end != last || port > 65535) return wrong();
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    error_code bad;
    const auto address = asio::ip::make_address(host, bad);
    if (bad) return wrong();
    return tcp::endpoint(address, static_cast<std::uint16_t>(port));
}

Task<> watch_clock(Worker& worker, std::chrono::milliseconds period) {
    Timer timer(worker.io.get_executor());
    for (;;) {
        timer.expires_after(period);
        co_await timer.async_wait(asio::as_tuple(use_task));
        const auto now = std::chrono::steady_clock::now();
        for (auto* connection : worker.connections) connection->look_at_clock(now);
    }
}

}  // namespace

using Acceptor = asio::basic_socket_acceptor<tcp, Io>;

struct Wire::State {
    std::shared_ptr<Site> site;
    WireOptions options;
    std::vector<std::shared_ptr<Worker>> workers;
    std::optional<Acceptor> acceptor;
    std::shared_ptr<Common> common = std::make_shared<Common>();
    std::atomic<std::uint16_t> port = 0;
    asio::io_context control{1};  ///< of `wait`
    std::mutex stopping;

    Task<> accept();
};

Task<> Wire::State::accept() {
    Timer pause(workers.front()->io.get_executor());
    for (std::size_t turn = 0;; ++turn) {
        const auto& worker = workers[turn % workers.size()];  // owning it here would be a cycle: it owns this coroutine
        auto [code, socket] = co_await acceptor->async_accept(worker->io.get_executor(), asio::as_tuple(use_task));
        if (!acceptor->is_open()) co_return;
        if (code) {  // no descriptors left, say: they come back when connections end
            pause.expires_after(std::chrono::milliseconds(50));
            co_await pause.async_wait(asio::as_tuple(use_task));
            continue;
        }
        const auto count = common->open.fetch_add(1) + 1;
        if (count > options.max_connections + turned_away_at_once) {
            common->open.fetch_sub(1);
            continue;  // closed by its destructor
        }
        auto connection = std::make_shared<Connection>(worker, common, std::move(socket), site, options);
        asio::co_spawn(worker->io, Connection::run(std::move(connection), count > options.max_connections),
                       asio::detached);
    }
}

Wire::Wire(std::shared_ptr<Site> site, WireOptions options) : state_(std::make_unique<State>()) {
    state_->site = std::move(site);
    state_->options = std::move(options);
}

Wire::~Wire() { stop(std::chrono::milliseconds(0)); }

Result<void> Wire::start() {
    auto& state = *state_;
    const auto endpoint = endpoint_of(state.options.listen);
    if (!endpoint) return endpoint.error();
    for (std::size_t i = 0; i < std::max<std::size_t>(1, state.options.threads); ++i)
        state.workers.push_back(std::make_shared<Worker>());
    state.acceptor.emplace(state.workers.front()->io.get_executor());
    error_code code;
    auto& acceptor = *state.acceptor;
    acceptor.open(endpoint->protocol(), code);
    if (!code) acceptor.set_option(tcp::acceptor::reuse_address(true), code);
    if (!code) acceptor.bind(*endpoint, code);
    if (!code) acceptor.listen(asio::socket_base::max_listen_connections, code);
    if (code) {
        state.acceptor.reset();
        state.workers.clear();
        return Error(ErrorKind::unavailable, "can't listen on " + state.options.listen, code.message(),
                     "choose another address, or port 0");
    }
    state.port = acceptor.local_endpoint(code).port();

    const auto shortest =
        std::min({state.options.read_timeout, state.options.idle_timeout, state.options.write_timeout});
    const auto period = std::clamp(shortest / 8, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
    asio::co_spawn(state.workers.front()->io, state.accept(), asio::detached);
    for (auto& worker : state.workers) {
        asio::co_spawn(worker->io, watch_clock(*worker, period), asio::detached);
        worker->thread = std::thread([io = &worker->io] { io->run(); });
    }
    return {};
}

std::uint16_t Wire::port() const noexcept { return state_->port; }

void Wire::wait() {
    asio::signal_set signals(state_->control, SIGINT, SIGTERM);
    signals.async_wait([this](const error_code&, int) { state_->control.stop(); });
    state_->control.run();
}

void Wire::stop(std::chrono::milliseconds drain) {
    auto& state = *state_;
    state.control.stop();
    const std::lock_guard lock(state.stopping);  // two may want it; the second finds nothing left to do
    if (state.workers.empty()) return;
    state.common->stopping = true;
    asio::post(state.workers.front()->io, [&state] {
        error_code ignored;
        state.acceptor->close(ignored);
    });
    for (auto& worker : state.workers)
        asio::post(worker->io, [one = worker.get()] {
            for (auto* connection : one->connections) connection->last_request();
        });
    const auto until = std::chrono::steady_clock::now() + drain;
    while (state.common->open.load() > 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (auto& worker : state.workers) worker->io.stop();
    for (auto& worker : state.workers) worker->thread.join();
    state.acceptor.reset();
    state.workers.clear();
}

}  // namespace nebis::http
