// SPDX-License-Identifier: Apache-2.0
// The main job, shown: two order services on one database file, a bank that misbehaves, and a client that tries hard
// to get one thing done twice.
#include "stage.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include <atomic>
#include <csignal>
#include <iostream>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

namespace shop {
namespace {

std::string order(const std::string& note, int quantity = 1) {
    return R"({"item":"tea","quantity":)" + std::to_string(quantity) + R"(,"note":")" + note + "\"}";
}

bool fifty_at_once(Stage& stage) {
    stage.says("one order, posted 50 times at once to both services");
    constexpr int clients = 50;
    std::latch together(clients);
    std::atomic<int> fresh{0}, replays{0}, refused{0}, gave_up{0};
    std::mutex mutex;
    std::set<std::string> bodies;
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i)
        threads.emplace_back([&, i] {
            together.arrive_and_wait();
            const auto asked =
                stage.post_until_final(i % 2, "/orders", order("fifty"), {{"Idempotency-Key", "\"fifty\""}});
            if (asked.refusals > 0) ++refused;
            if (!asked.reply || asked.reply->status != 201) {
                ++gave_up;
                return;
            }
            ++(asked.replayed() ? replays : fresh);
            const std::lock_guard lock(mutex);
            bodies.insert(asked.reply->body);
        });
    for (auto& thread : threads) thread.join();
    stage.replays += replays;
    const std::size_t orders = stage.orders("fifty");
    return stage.ends(orders == 1 && fresh == 1 && replays == clients - 1 && gave_up == 0 && bodies.size() == 1,
                      std::to_string(orders) + " order, " + std::to_string(fresh) + " × 201, " +
                          std::to_string(replays) + " replays (" + std::to_string(refused) + " of them after a 409), " +
                          std::to_string(bodies.size()) + " body");
}

bool other_payload(Stage& stage) {
    stage.says("another payload under the same key");
    const auto asked = stage.post_until_final(1, "/orders", order("fifty", 2), {{"Idempotency-Key", "\"fifty\""}});
    const int status = asked.reply ? asked.reply->status : 0;
    return stage.ends(status == 422 && stage.orders("fifty") == 1, std::to_string(status) + ", still 1 order");
}

bool killed_inside(Stage& stage) {
    stage.says("a service killed with -9 inside the handler; retry at the other");
    const Headers key = {{"Idempotency-Key", "\"killed\""}};
    Headers slow = key;
    slow.emplace_back("X-Slow-Millis", "8000");
    std::thread client([&] { stage.post(1, "/orders", order("killed"), slow); });
    const bool inside = stage.wait_for_log(1, "packing slowly");
    stage.kill(1);
    client.join();
    const auto started = std::chrono::steady_clock::now();
    const auto asked = stage.post_until_final(0, "/orders", order("killed"), key);
    const auto millis =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started).count();
    stage.start(1);
    const auto again = stage.post_until_final(1, "/orders", order("killed"), key);
    stage.replays += again.replayed();
    const std::size_t orders = stage.orders("killed");
    const bool equal = asked.reply && again.reply && asked.reply->body == again.reply->body;
    return stage.ends(inside && asked.reply && asked.reply->status == 201 && orders == 1 && equal && again.replayed(),
                      std::to_string(orders) + " order, after " + std::to_string(millis) +
                          " ms (the dead one's lease); the restarted service replays it");
}

bool bank_hangs_up(Stage& stage) {
    stage.says("a payment whose bank takes the money and hangs up");
    const std::string payment = R"({"amount":"9.90","to":"tea shop","note":"tea money"})";
    const Headers key = {{"Idempotency-Key", "\"tea-money\""}};
    Headers flaky = key;
    flaky.emplace_back("X-Bank-Mode", "hang-up");
    const auto first = stage.post(0, "/payments", payment, flaky);
    const bool unknown = first.reply && first.reply->body.find("outcome-unknown") != std::string::npos;
    const auto settled = stage.post_until_final(1, "/payments", payment, key);
    const auto again = stage.post_until_final(0, "/payments", payment, key);
    stage.replays += again.replayed();
    const std::size_t payments = stage.payments("tea money");
    const bool equal = settled.reply && again.reply && settled.reply->body == again.reply->body;
    return stage.ends(
        unknown && settled.reply && settled.reply->status == 201 && again.replayed() && equal && payments == 1,
        std::string(unknown ? "outcome unknown" : "no word of it") + ", settled by asking the bank, then replayed; " +
            std::to_string(payments) + " payment");
}

bool one_time_token(Stage& stage) {
    stage.says("a one-time token, spent twice");
    const auto page = stage.get(0, "/orders/token");
    if (!page.reply || page.reply->status != 200) return stage.ends(false, "no token");
    const auto token = boost::json::parse(page.reply->body).as_object().at("token").as_string();
    const Headers key = {{"X-Idempotent-Token", std::string(token)}};
    const auto first = stage.post_until_final(0, "/orders", order("token"), key);
    const auto second = stage.post_until_final(1, "/orders", order("token"), key);
    stage.replays += second.replayed();
    const std::size_t orders = stage.orders("token");
    const bool equal = first.reply && second.reply && first.reply->body == second.reply->body;
    return stage.ends(first.reply && first.reply->status == 201 && second.replayed() && equal && orders == 1,
                      std::to_string(orders) + " order, the second time a replay");
}

void curl_lines(const Stage& stage) {
    const std::string first = stage.address(0), second = stage.address(1);
    std::cout << "\nStill serving. Try (in another terminal):\n"
              << "  curl -i " << first
              << "/orders -H 'Idempotency-Key: \"mine-1\"' -H 'Content-Type: application/json' "
              << "-d '{\"item\":\"tea\",\"quantity\":2}'\n"
              << "  curl -i " << second
              << "/orders -H 'Idempotency-Key: \"mine-1\"' -H 'Content-Type: application/json' "
              << "-d '{\"item\":\"tea\",\"quantity\":2}'   # the same bytes, Idempotency-Replayed: true\n"
              << "  curl -i " << second
              << "/orders -H 'Idempotency-Key: \"mine-1\"' -H 'Content-Type: application/json' "
              << "-d '{\"item\":\"tea\",\"quantity\":3}'   # 422\n"
              << "  curl -i " << first << "/payments -H 'Idempotency-Key: \"pay-1\"' -H 'X-Bank-Mode: hang-up' "
              << "-H 'Content-Type: application/json' -d '{\"amount\":\"5\",\"to\":\"me\"}'   # again: settled\n"
              << "  curl " << first << "/orders\n"
              << "  curl " << first << "/metrics\n"
              << "Ctrl-C ends it." << std::endl;
}

int show(bool once) {
    sigset_t stop_signals;
    sigemptyset(&stop_signals);
    sigaddset(&stop_signals, SIGINT);
    sigaddset(&stop_signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

    Stage stage;
    bool good = true;
    for (const auto act : {fifty_at_once, other_payload, killed_inside, bank_hangs_up, one_time_token})
        good = act(stage) && good;
    good = stage.figures() && good;
    if (!once) {
        curl_lines(stage);
        int signal = 0;
        sigwait(&stop_signals, &signal);
    }
    return good ? 0 : 1;
}

}  // namespace
}  // namespace shop

int main(int argc, char** argv) {
    bool once = false;
    CLI::App app(
        "Examples:\n"
        "  nebis-order-show          show it, then keep serving\n"
        "  nebis-order-show --once   show it and end; exit 0 only if every line held\n",
        "nebis-order-show");
    app.add_flag("--once", once, "end after the show");
    CLI11_PARSE(app, argc, argv);
    try {
        return shop::show(once);
    } catch (const std::exception& error) {
        std::cerr << "nebis-order-show: " << error.what() << '\n';
        return 1;
    }
}
