// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "nebis/starter.hpp"
#include "support/servers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

// examples/several_machines.yaml as a team would run it: two instances, Redis in front, PostgreSQL behind.
namespace {

using namespace nebis;
using test::Server;
using Clock = std::chrono::steady_clock;

Request order(const std::string& key) {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.content_type = "application/json";
    request.headers = {{"Idempotency-Key", key}};
    request.body = R"({"item":"tea"})";
    return request;
}

class Instance {
public:
    explicit Instance(std::atomic<int>& orders)
        : engine_(
              Engine::open(NEBIS_SOURCE_DIR "/examples/several_machines.yaml", standard_drivers(), options()).value()),
          operation_(engine_.operation({.operation = "createOrder"}).value()),
          handler_([&orders](const Request&, Execution&) {
              return Response{201, {}, R"({"order":)" + std::to_string(++orders) + "}", false};
          }) {}

    Answer post(const std::string& key) const { return engine_.run(operation_, order(key), handler_); }

private:
    static OpenOptions options() {
        OpenOptions options;
        options.use_environment = false;
        options.sets = {"datasources.primary.address=" + Server::shared("postgres").address(),
                        "lock.address=" + Server::shared("redis").address()};
        return options;
    }

    Engine engine_;
    Operation operation_;
    Handler handler_;
};

class SeveralMachines : public testing::Test {
protected:
    std::atomic<int> orders{0};
    Instance one{orders};
    Instance other{orders};

    /// The same key to both at once, until each of these clicks has its final answer.
    void click(const std::string& key, int clicks = 16) {
        std::vector<std::jthread> users;
        for (int i = 0; i < clicks; ++i)
            users.emplace_back([&, i] {
                const auto until = Clock::now() + std::chrono::seconds(30);
                Answer answer;
                do answer = (i % 2 ? one : other).post(key);
                while (answer.outcome != Outcome::fresh && answer.outcome != Outcome::replayed && Clock::now() < until);
                EXPECT_EQ(answer.response.status, 201) << to_string(answer.outcome);
            });
    }
};

TEST_F(SeveralMachines, S62_one_order_whichever_instance_is_asked) {
    click("one-order");
    EXPECT_EQ(orders, 1);
    EXPECT_EQ(one.post("one-order").response.body, R"({"order":1})");
    EXPECT_EQ(other.post("one-order").outcome, Outcome::replayed);
}

TEST_F(SeveralMachines, S27_redis_dies_and_comes_back) {
    Server& redis = Server::shared("redis");
    click("before");
    redis.kill();
    click("while-it-is-gone");
    click("before");
    redis.start();
    click("afterwards");
    click("while-it-is-gone");
    EXPECT_EQ(orders, 3);
}

TEST_F(SeveralMachines, S28_without_the_database_nothing_runs_and_nobody_waits_for_ever) {
    Server& postgres = Server::shared("postgres");
    click("kept");
    postgres.kill();
    const auto asked = Clock::now();
    const Answer refused = one.post("new");
    EXPECT_LT(Clock::now() - asked, std::chrono::seconds(20));
    EXPECT_EQ(refused.outcome, Outcome::unavailable);
    EXPECT_FALSE(refused.handler_ran);
    postgres.start();
    click("new");
    click("kept");
    EXPECT_EQ(orders, 2);
}

std::string text_of(const std::string& file) {
    std::ifstream stream(NEBIS_SOURCE_DIR "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(SeveralMachinesReadme, shows_this_very_configuration) {
    const std::string file = text_of("examples/several_machines.yaml");
    const auto start = file.find("nebis:");
    ASSERT_NE(start, std::string::npos);
    EXPECT_NE(text_of("README.md").find("```yaml\n" + file.substr(start) + "```\n"), std::string::npos);
}

}  // namespace
