// SPDX-License-Identifier: Apache-2.0
#include "nebis/testing.hpp"
#include "shop.hpp"

#include <nebis/sqlite.hpp>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace nebis::http {
namespace {

using namespace std::chrono_literals;

class HttpAnswers : public ShopTest {};

// I-09, I-10, B071, B074, C33
TEST_F(HttpAnswers, I09_I10_first_request_runs_and_retries_replay) {
    serve_orders();
    const auto first = post("k");
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(first.body, "order 1 [tea]");
    EXPECT_EQ(first.header("Location"), "/orders/1");
    EXPECT_EQ(first.header("Set-Cookie"), "s=1");
    EXPECT_EQ(first.count("Idempotency-Replayed"), 0u);
    for (int i = 0; i < 3; ++i) {
        const auto again = post("k");
        EXPECT_EQ(again.status, 201);
        EXPECT_EQ(again.body, first.body);
        EXPECT_EQ(again.header("Location"), "/orders/1");
        EXPECT_EQ(again.count("Set-Cookie"), 0u);
        EXPECT_TRUE(replayed(again));
    }
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, C29_I10_B072_statuses_and_bytes_are_replayed_exactly) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    open().post("/orders", by_header(), [&](const Request& request) {
        return Reply{std::stoi(request.query),
                     bytes,
                     {{"Content-Type", "application/octet-stream"}, {"Link", "</a>"}, {"Link", "</b>"}}};
    });
    serve();
    for (const auto* status :
         {"200", "202", "204", "301", "303", "304", "400", "404", "409", "418", "422", "500", "501"}) {
        const auto target = std::string("/orders?") + status;
        const auto first = post(status, "x", target);
        const auto again = post(status, "x", target);
        EXPECT_EQ(std::to_string(first.status), status);
        EXPECT_EQ(again.status, first.status);
        EXPECT_EQ(again.body, first.body);
        EXPECT_EQ(first.body, std::string(status) == "204" || std::string(status) == "304" ? "" : bytes)
            << status;  // B072
        EXPECT_EQ(again.count("Link"), 2u);
        EXPECT_TRUE(replayed(again)) << status;
    }
}

TEST_F(HttpAnswers, I11_in_progress_is_409_and_the_retry_replays) {
    Door door;
    open().post("/orders", by_header(), [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    std::thread first([&] { EXPECT_EQ(post("k").status, 201); });
    ASSERT_TRUE(door.reached());
    const auto second = post("k");
    EXPECT_EQ(second.status, 409);
    EXPECT_EQ(word(second), "in-progress");
    EXPECT_GE(std::stoi(second.header("Retry-After")), 1);
    EXPECT_NE(second.header("Link"), "");
    EXPECT_EQ(word(post("k", "coffee")), "mismatch");
    door.open();
    first.join();
    EXPECT_TRUE(replayed(post("k")));
    EXPECT_EQ(runs, 1);
}

// C39: waiting holds no thread, and never keeps others away
TEST_F(HttpAnswers, C39_waiting_duplicates_hold_no_thread) {
    Door door;
    auto policy = by_header("createOrder");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = 30s;
    open({.threads = 1, .handler_threads = 2}).post("/orders", policy, [&](const Request& request) {
        if (request.body == "slow") door.pass();
        return order(request);
    });
    serve();
    std::vector<test::HttpClient> clients;
    for (int i = 0; i < 100; ++i) {
        clients.push_back(client());
        ASSERT_TRUE(clients.back().send(
            "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: hot\r\nContent-Length: 4\r\n\r\nslow"));
    }
    ASSERT_TRUE(door.reached());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(post("cold-" + std::to_string(i)).status, 201);
    door.open();
    int fresh = 0;
    for (auto& one : clients) {
        const auto reply = one.read(20s);
        ASSERT_TRUE(reply) << one.error();
        EXPECT_EQ(reply->status, 201);
        EXPECT_EQ(reply->body, "order 21 [slow]");
        fresh += replayed(*reply) ? 0 : 1;
    }
    EXPECT_EQ(fresh, 1);
    EXPECT_EQ(runs, 21);
}

TEST_F(HttpAnswers, B063_waiters_are_bounded_and_the_rest_is_409) {
    Door door;
    auto policy = by_header("createOrder");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = 30s;
    const auto narrow = engine("nebis: {idempotent: {limits: {waiters-max: 5}}}\n");
    open({}, narrow).post("/orders", policy, [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    std::vector<test::HttpClient> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(client());
        ASSERT_TRUE(clients.back().send(
            "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: hot\r\nContent-Length: 3\r\n\r\ntea"));
        if (i == 0) {
            ASSERT_TRUE(door.reached());
        }
    }
    int refused = 0;
    for (int i = 0; i < 20; ++i) {  // those that were turned away answer while the door is shut
        const auto reply = clients[static_cast<std::size_t>(i)].read(i == 0 ? 10ms : 300ms);
        if (!reply) continue;
        EXPECT_EQ(reply->status, 409);
        ++refused;
    }
    door.open();
    EXPECT_GE(refused, 12);
    EXPECT_LE(refused, 14);
    EXPECT_TRUE(eventually([&] { return runs == 1; }));
}

// B061, C25
TEST_F(HttpAnswers, C25_B061_a_client_that_hangs_up_cancels_nothing) {
    Door door;
    open().post("/orders", by_header(), [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    auto one = client();
    ASSERT_TRUE(one.send("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 3\r\n\r\ntea"));
    ASSERT_TRUE(door.reached());
    one.reset();
    EXPECT_EQ(word(post("k")), "in-progress");
    door.open();
    test::HttpReply again;
    EXPECT_TRUE(eventually([&] { return replayed(again = post("k")); }));
    EXPECT_EQ(again.body, "order 1 [tea]");
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, B062_a_duplicate_that_hangs_up_no_longer_waits) {
    Door door;
    auto policy = by_header("createOrder");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = 60s;
    const auto shop = engine();
    const auto waiting = [&](int count) {
        return shop.metrics().find("nebis_waiting_duplicates{operation=\"createOrder\"} " + std::to_string(count)) !=
               std::string::npos;
    };
    open({}, shop).post("/orders", policy, [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    const std::string bytes = "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 3\r\n\r\ntea";
    auto first = client();
    ASSERT_TRUE(first.send(bytes));
    ASSERT_TRUE(door.reached());
    std::vector<test::HttpClient> others;
    for (int i = 0; i < 3; ++i) {
        others.push_back(client());
        ASSERT_TRUE(others.back().send(bytes));
    }
    EXPECT_TRUE(eventually([&] { return waiting(3); })) << shop.metrics();
    others[0].close();
    others[1].reset();
    EXPECT_TRUE(eventually([&] { return waiting(1); })) << shop.metrics();
    door.open();
    EXPECT_EQ(first.read()->status, 201);
    const auto reply = others[2].read();
    ASSERT_TRUE(reply) << others[2].error();
    EXPECT_TRUE(replayed(*reply));
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, B064_pipelined_requests_with_keys_are_never_mixed) {
    serve_orders();
    auto one = client();
    std::string bytes;
    for (int i = 0; i < 30; ++i)
        bytes += "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k" + std::to_string(i % 10) +
                 "\r\nContent-Length: 1\r\n\r\n" + std::to_string(i % 10);
    ASSERT_TRUE(one.send(bytes));
    for (int i = 0; i < 30; ++i) {
        const auto reply = one.read();
        ASSERT_TRUE(reply) << one.error();
        EXPECT_EQ(reply->body, "order " + std::to_string(i % 10 + 1) + " [" + std::to_string(i % 10) + "]");
        EXPECT_EQ(replayed(*reply), i >= 10);
    }
}

// S53, B075
TEST_F(HttpAnswers, S53_B075_oversize_answers_leave_a_tombstone) {
    auto policy = by_header("createOrder");
    policy.max_response_bytes = 1000;
    open().post("/orders", policy, [&](const Request&) {
        return Reply{201, std::string(500'000, static_cast<char>('a' + runs++))};
    });
    serve();
    const auto first = post("k");
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(first.body, std::string(500'000, 'a'));
    for (int i = 0; i < 2; ++i) {
        const auto again = post("k");
        EXPECT_EQ(again.status, 409);
        EXPECT_EQ(word(again), "done-not-stored");
        EXPECT_EQ(again.header("Idempotency-Status"), "done-not-stored");
        EXPECT_EQ(boost::json::parse(again.body).at("original-status").as_int64(), 201);
    }
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, C34_what_a_retry_accepts_changes_no_byte_of_the_answer) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
    open().post("/orders", by_header(), [&](const Request&) {
        ++runs;
        return Reply{200, bytes, {{"Content-Type", "application/octet-stream"}, {"ETag", "\"1\""}}};
    });
    serve();
    EXPECT_EQ(post("k", "tea", "/orders", {{"Accept-Encoding", "gzip"}}).body, bytes);
    for (const auto* accepted : {"gzip", "identity", "gzip;q=0, br", ""}) {
        const auto again = post("k", "tea", "/orders", {{"Accept-Encoding", accepted}});
        EXPECT_TRUE(replayed(again)) << accepted;
        EXPECT_EQ(again.body, bytes) << accepted;
        EXPECT_EQ(again.count("Content-Encoding"), 0u) << accepted;
        EXPECT_EQ(again.header("ETag"), "\"1\"") << accepted;
    }
    EXPECT_EQ(runs, 1);
}

// Only a final answer is one: a handler that returns 1xx has answered nothing, and whether it did anything isn't known.
TEST_F(HttpAnswers, B073_an_interim_status_is_never_recorded_as_the_answer) {
    open().post("/orders", by_header(), [&](const Request&) {
        ++runs;
        return Reply{103, "", {{"Link", "</style.css>"}}};
    });
    serve();
    EXPECT_EQ(post("k").status, 500);
    const auto again = post("k");
    EXPECT_GE(again.status, 400);
    EXPECT_FALSE(replayed(again));
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, C22_a_reply_that_says_nothing_happened_may_run_again) {
    open().post("/orders", by_header(), [&](const Request& request) {
        if (runs++ == 0) return Reply{503, "later", {{"Retry-After", "7"}, {"X-Own", "1"}}};
        return Reply{201, request.body};
    });
    serve();
    const auto first = post("k");
    EXPECT_EQ(first.status, 503);
    EXPECT_EQ(first.body, "later");
    EXPECT_EQ(first.header("Retry-After"), "7");
    EXPECT_TRUE(eventually([&] { return post("k").status == 201; }));  // the lock is dropped a moment after the answer
    EXPECT_TRUE(replayed(post("k")));
    EXPECT_EQ(runs, 2);
}

TEST_F(HttpAnswers, C27_a_reply_that_says_nobody_knows_is_held) {
    open().post("/orders", by_header(), [&](const Request&) {
        ++runs;
        return Reply{504, "the bank is silent"};
    });
    serve();
    EXPECT_EQ(post("k").body, "the bank is silent");
    for (int i = 0; i < 2; ++i) {
        const auto again = post("k");
        EXPECT_EQ(again.status, 409);
        EXPECT_EQ(word(again), "outcome-unknown");
        EXPECT_EQ(again.count("Retry-After"), 0u);
    }
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, refusals_of_the_application_replay_byte_for_byte) {
    open().post("/orders", by_header(), [&](const Request&) -> Reply {
        ++runs;
        throw Rejected("not enough money", 402);
    });
    serve();
    const auto first = post("k");
    EXPECT_EQ(first.status, 402);
    EXPECT_EQ(word(first), "rejected");
    EXPECT_EQ(first.count("Idempotency-Replayed"), 0u);
    const auto again = post("k");
    EXPECT_EQ(again.status, 402);
    EXPECT_EQ(again.body, first.body);
    EXPECT_TRUE(replayed(again));
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, a_handler_that_throws_is_500_without_its_text) {
    open().post("/orders", by_header(), [&](const Request&) -> Reply {
        ++runs;
        throw std::runtime_error("password=secret");
    });
    serve();
    const auto first = post("k");
    EXPECT_EQ(first.status, 500);
    EXPECT_EQ(word(first), "handler-failed");
    EXPECT_EQ(first.body.find("secret"), std::string::npos);
    EXPECT_EQ(word(post("k")), "outcome-unknown");  // profile strict: an unlisted exception leaves it open
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, mark_mode_answers_duplicates_with_409) {
    auto policy = by_header("createOrder");
    policy.mode = Mode::mark;
    serve_orders(policy);
    EXPECT_EQ(post("k").status, 201);
    EXPECT_EQ(word(post("k")), "duplicate");
    EXPECT_EQ(post("k").status, 409);
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpAnswers, S26_a_response_producer_answers_for_refused_duplicates) {
    struct Wait : ResponseProducer {
        Response produce(const DuplicateInfo& duplicate, const nebis::Request&) const override {
            return {202, {{"Content-Type", "text/plain"}}, std::string(duplicate.operation) + " goes on", false};
        }
    };
    Door door;
    auto policy = by_header("createOrder");
    policy.on_duplicate = OnDuplicate::give;
    policy.response_producer = std::make_shared<Wait>();
    open().post("/orders", policy, [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    std::thread first([&] { EXPECT_EQ(post("k").status, 201); });
    ASSERT_TRUE(door.reached());
    const auto second = post("k");
    EXPECT_EQ(second.status, 202);
    EXPECT_EQ(second.body, "createOrder goes on");
    door.open();
    first.join();
}

TEST_F(HttpAnswers, S6_request_ids_pass_through_or_are_derived) {
    serve_orders();
    EXPECT_EQ(post("k", "tea", "/orders", {{"X-Request-Id", "chain-7"}}).header("X-Request-Id"), "chain-7");
    EXPECT_EQ(post("k", "tea", "/orders", {{"X-Request-Id", "chain-8"}}).header("X-Request-Id"),
              "chain-8");  // never identity
    EXPECT_NE(post("k").header("X-Request-Id"), "");
    EXPECT_EQ(post("k").header("X-Request-Id"), post("k").header("X-Request-Id"));  // the same on every retry
    EXPECT_NE(post("").header("X-Request-Id"), "");
    EXPECT_NE(request("GET", "/nowhere").header("X-Request-Id"), "");
    EXPECT_NE(post("k", "tea", "/orders", {{"X-Request-Id", "<script>"}}).header("X-Request-Id"), "<script>");
    EXPECT_EQ(runs, 1);
}

// C49
TEST_F(HttpAnswers, C49_a_store_that_is_down_is_503_with_retry_after) {
    const auto plan = std::make_shared<fakes::FaultPlan>();
    open({}, engine({}, std::make_shared<fakes::FaultyStore>(memory::store(), plan)))
        .post("/orders", by_header(), [&](const Request& request) { return order(request); });
    serve();
    plan->add({.call = fakes::StoreCall::begin, .for_ever = true});
    const auto reply = post("k");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(word(reply), "unavailable");
    EXPECT_GE(std::stoi(reply.header("Retry-After")), 1);
    EXPECT_EQ(runs, 0);
    plan->clear();
    EXPECT_TRUE(eventually([&] { return post("k").status == 201; }));  // no restart needed
    EXPECT_EQ(runs, 1);
}

// The snippet of the README, with both claims.
class HttpAtomic : public ShopTest, public testing::WithParamInterface<Claim> {
protected:
    HttpAtomic() {
        char name[] = "/tmp/nebis-http-XXXXXX";
        folder = mkdtemp(name);
    }
    ~HttpAtomic() override {
        web.reset();
        std::filesystem::remove_all(folder);
    }
    std::string folder;
};

TEST_P(HttpAtomic, order_and_record_are_one_transaction) {
    const sqlite::Database db(sqlite::Options{.path = folder + "/shop.db", .create_schema = true});
    {
        auto connection = db.borrow(Deadline::clock::now() + 5s).value();
        ASSERT_EQ(sqlite3_exec(connection.get(), "CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)", nullptr,
                               nullptr, nullptr),
                  SQLITE_OK);
    }
    const auto count = [&] {
        auto connection = db.borrow(Deadline::clock::now() + 5s).value();
        sqlite3_stmt* query = nullptr;
        sqlite3_prepare_v2(connection.get(), "SELECT count(*) FROM orders", -1, &query, nullptr);
        sqlite3_step(query);
        const int rows = sqlite3_column_int(query, 0);
        sqlite3_finalize(query);
        return rows;
    };
    open({}, engine({}, sqlite::store(db)));
    web->post("/orders",
              {.operation = "createOrder", .key = header("Idempotency-Key"), .mode = Mode::atomic, .claim = GetParam()},
              sqlite::atomic(db, [&](const auto& request, sqlite3* tx, Execution& execution) {
                  sqlite3_exec(tx, "INSERT INTO orders (what) VALUES ('x')", nullptr, nullptr, nullptr);
                  if (request.body.empty()) throw Rejected("empty order");
                  if (request.body == "later" && runs++ == 0) return Reply{503, "later", {{"Retry-After", "1"}}};
                  return Reply{201, request.body + " by " + std::to_string(execution.attempt())};
              }));
    serve();
    EXPECT_EQ(post("k").body, "tea by 1");
    EXPECT_TRUE(replayed(post("k")));
    EXPECT_EQ(count(), 1);
    EXPECT_EQ(word(post("e", "")), "rejected");  // rolled back, and remembered
    EXPECT_TRUE(replayed(post("e", "")));
    EXPECT_EQ(count(), 1);
    EXPECT_EQ(post("r", "later").status, 503);  // rolled back, and runs again
    EXPECT_EQ(count(), 1);
    // the lock is dropped a moment after the answer
    EXPECT_TRUE(eventually([&] { return post("r", "later").status == 201; }));
    EXPECT_EQ(count(), 2);
}

INSTANTIATE_TEST_SUITE_P(BothClaims, HttpAtomic, testing::Values(Claim::before, Claim::inside),
                         [](const auto& info) { return info.param == Claim::before ? "before" : "inside"; });

}  // namespace
}  // namespace nebis::http
