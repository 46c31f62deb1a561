// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include <boost/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

namespace shop {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A short lease, so that nobody waits long for the dead.
constexpr std::string_view configuration = R"(nebis:
  idempotent:
    lock-expire-millis: 2000
    scheduler-interval-millis: 500
    token:
      current: show
      keys:
        show:
          secret: a-secret-for-a-show-of-a-few-seconds
)";

bool says_later(const CallReply& reply) { return reply.status == 409 || reply.status == 429 || reply.status == 503; }

}  // namespace

Stage::Stage() {
    colours_ = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    std::ofstream(folder_ / "nebis.yaml") << configuration;
    std::cout << "Two order services on one database file, and a bank that misbehaves (" << folder_.path().string()
              << ").\n"
              << std::flush;
    bank_ = launch({beside_me("nebis-flaky-bank"), "--port", "0", "--ledger", folder_ / "ledger.txt"},
                   folder_ / "bank.log");
    start(0);
    start(1);
}

Stage::~Stage() {
    for (auto& service : services_) service.child.stop(5s);
    bank_.child.kill();
}

void Stage::start(int service) {
    services_.at(service) =
        launch({beside_me("nebis-order-service"), "--listen", "127.0.0.1:0", "--db", folder_ / "orders.db", "--bank",
                bank_.endpoint.host + ":" + std::to_string(bank_.endpoint.port), "--config", folder_ / "nebis.yaml"},
               folder_ / ("service" + std::to_string(service) + ".log"));
}

void Stage::kill(int service) { services_.at(service).child.kill(); }

bool Stage::wait_for_log(int service, std::string_view words) const {
    for (const auto until = Clock::now() + 10s; Clock::now() < until; std::this_thread::sleep_for(10ms)) {
        std::ifstream file(folder_ / ("service" + std::to_string(service) + ".log"));
        if ((std::ostringstream() << file.rdbuf()).str().find(words) != std::string::npos) return true;
    }
    return false;
}

std::string Stage::address(int service) const {
    const Endpoint& endpoint = services_.at(service).endpoint;
    return "http://" + endpoint.host + ":" + std::to_string(endpoint.port);
}

CallResult Stage::get(int service, const std::string& path) const {
    return call(services_.at(service).endpoint, "GET", path, {}, {}, 10s);
}

CallResult Stage::post(int service, const std::string& path, const std::string& body, const Headers& headers) const {
    Headers all = headers;
    all.emplace_back("Content-Type", "application/json");
    return call(services_.at(service).endpoint, "POST", path, all, body, 15s);
}

Asked Stage::post_until_final(int service, const std::string& path, const std::string& body,
                              const Headers& headers) const {
    Asked asked;
    for (const auto until = Clock::now() + 20s; Clock::now() < until; std::this_thread::sleep_for(50ms)) {
        asked.reply = post(service, path, body, headers).reply;
        if (asked.reply && !says_later(*asked.reply)) break;
        ++asked.refusals;
    }
    return asked;
}

std::vector<std::string> Stage::notes(const Endpoint& from, const std::string& path, std::string_view list) const {
    const CallResult page = call(from, "GET", path, {}, {}, 10s);
    if (!page.reply || page.reply->status != 200) throw std::runtime_error("GET " + path + " failed: " + page.why);
    const auto value = boost::json::parse(page.reply->body);
    std::vector<std::string> found;
    for (const auto& one : list.empty() ? value.as_array() : value.as_object().at(list).as_array())
        found.emplace_back(one.as_object().at("note").as_string());
    return found;
}

std::size_t Stage::orders(std::string_view note) const {
    const auto all = notes(services_[0].endpoint, "/orders", "latest");
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), note));
}

std::size_t Stage::payments(std::string_view note) const {
    const auto all = notes(bank_.endpoint, "/payments", {});
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), note));
}

void Stage::says(const std::string& act) { std::cout << "  " << ++acts_ << ". " << act << " … " << std::flush; }

bool Stage::ends(bool good, const std::string& figures) {
    const std::string_view word = good ? "ok" : "FAILED";
    std::cout << figures << "  ";
    if (colours_)
        std::cout << (good ? "\033[32m" : "\033[31m") << word << "\033[0m";
    else
        std::cout << word;
    std::cout << std::endl;
    return good;
}

bool Stage::figures() {
    auto count_lost_and_doubled = [](const std::vector<std::string>& notes,
                                     std::initializer_list<const char*> promised) {
        const std::set<std::string> once(notes.begin(), notes.end());
        std::size_t lost = 0;
        for (const char* note : promised) lost += once.count(note) == 0;
        return std::pair{notes.size() - once.size(), lost};
    };
    const auto orders = notes(services_[0].endpoint, "/orders", "latest");
    const auto [doubled, lost] = count_lost_and_doubled(orders, {"fifty", "killed", "token"});
    const auto [paid_twice, never_paid] = count_lost_and_doubled(notes(bank_.endpoint, "/payments", {}), {"tea money"});
    std::cout << "orders=" << orders.size() << " replays=" << replays << " doubled=" << doubled + paid_twice
              << " lost=" << lost + never_paid << std::endl;
    return doubled + paid_twice + lost + never_paid == 0;
}

}  // namespace shop
