// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "echo_server.hpp"
#include "launch.hpp"  // of examples/order_service
#include "workload.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

/// The order service answering orders that it has placed already, against a server that does nothing but HTTP. Load
/// comes from wrk.
namespace nebis::bench {
namespace {

constexpr std::size_t connections = 64;
constexpr std::size_t distinct = 1'000;

std::string output_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) give_up("wrk can't be started");
    std::string text;
    char part[512];
    while (std::fgets(part, sizeof part, pipe)) text += part;
    if (pclose(pipe) != 0) give_up("wrk failed: " + text);
    return text;
}

/// `distinct` ready-made requests, sent in turn. Anything but a 2xx is counted by wrk, and fatal.
std::string wrk_script() {
    return "local requests = {}\n"
           "local headers = {['Content-Type'] = 'application/json'}\n"
           "function init(args)\n"
           "  for i = 1, " +
           std::to_string(distinct) +
           " do\n"
           "    headers['Idempotency-Key'] = string.format('\"0f3a2b1c-5d6e-4788-9a0b-%012d\"', i)\n"
           "    requests[i] = wrk.format('POST', '/orders', headers, [==[" +
           order_body() +
           "]==])\n"
           "  end\n"
           "end\n"
           "local turn = 0\n"
           "function request()\n"
           "  turn = turn % " +
           std::to_string(distinct) +
           " + 1\n"
           "  return requests[turn]\n"
           "end\n";
}

class Load {
public:
    Load(const Folder& folder, int seconds) : script_(folder.file("load.lua")), seconds_(seconds) {
        std::ofstream(script_) << wrk_script();
    }
    /// Each order at least once: here "in progress" is a fair answer too, and nobody counts.
    void place_all(std::uint16_t port) const { run(port, 2); }
    double rate(std::uint16_t port) const {
        const std::string text = run(port, seconds_);
        for (const char* bad : {"Non-2xx", "Socket errors"})
            if (text.find(bad) != std::string::npos) give_up("wrong answers: " + text);
        const std::string_view words = "Requests/sec:";
        const auto at = text.find(words);
        if (at == std::string::npos) give_up("wrk said: " + text);
        return std::atof(text.c_str() + at + words.size());
    }

private:
    std::string run(std::uint16_t port, int seconds) const {
        return output_of("wrk -t1 -c" + std::to_string(connections) + " -d" + std::to_string(seconds) + "s -s '" +
                         script_ + "' http://127.0.0.1:" + std::to_string(port) + "/ 2>&1");
    }

    std::string script_;
    int seconds_;
};

}  // namespace

void http_replay(Context& context) {
    const Folder folder = context.folder();
    const Load load(folder, context.quick() ? 1 : 3);
    auto service = shop::launch(
        {shop::beside_me("nebis-order-service"), "--listen", "127.0.0.1:0", "--db", folder.file("orders.db")},
        folder.file("service.log"));
    const std::uint16_t port = service.endpoint.port;
    const auto placed = shop::call(service.endpoint, "POST", "/orders",
                                   {{"Content-Type", "application/json"}, {"Idempotency-Key", "\"first\""}},
                                   order_body(), std::chrono::seconds(10));
    if (!placed.reply || placed.reply->status != 201) give_up("the order service places no orders: " + placed.why);
    const EchoServer echo(2, placed.reply->body);
    context.say("placing the orders that will be asked for again");
    load.place_all(port);
    const auto figures = context.interleave({
        {"bare Beast server, same bytes each time", "req/s", [&] { return load.rate(echo.port()); }},
        {"order service, replaying 1000 orders", "req/s", [&] { return load.rate(port); }},
    });
    service.child.stop(std::chrono::seconds(10));
    context.at_least("http-replay", ratio(figures[1], figures[0]), 0.80);
}

}  // namespace nebis::bench
