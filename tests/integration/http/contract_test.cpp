// SPDX-License-Identifier: Apache-2.0
#include "nebis/testing.hpp"
#include "shop.hpp"

#include <nebis/sqlite.hpp>
#include <unistd.h>

#include <filesystem>

/// What callers see, case by case: the IETF draft's rules for the `Idempotency-Key` header (I-01 to I-17; the others
/// stand beside the keys, answers, callers and routes they concern) and the answers of the problem types.
namespace nebis::http {
namespace {

using namespace std::chrono_literals;

class HttpContract : public ShopTest {
protected:
    static boost::json::object problem(const test::HttpReply& reply) {
        EXPECT_EQ(reply.header("Content-Type"), "application/problem+json") << reply.body;
        return boost::json::parse(reply.body).as_object();
    }
    static std::string detail(const test::HttpReply& reply) {
        return std::string(problem(reply).at("detail").as_string());
    }
    /// POST /orders stays in its handler until `door` opens.
    void serve_slow_orders(Door& door, const Policy& policy, std::optional<Engine> with = {}) {
        open({}, std::move(with)).post("/orders", policy, [&](const Request& request) {
            door.pass();
            return order(request);
        });
        serve();
    }
};

TEST_F(HttpContract, the_first_answer_is_the_applications_own_and_the_key_is_not_echoed) {
    serve_orders();
    const auto first = post("my-key");
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(first.count("Idempotency-Replayed"), 0u);
    EXPECT_EQ(first.count("Idempotency-Status"), 0u);
    for (const auto& reply : {first, post("my-key"), post("my-key", "coffee"), post("\"my-key"), post("")}) {
        EXPECT_EQ(reply.count("Idempotency-Key"), 0u);
        EXPECT_EQ(reply.body.find("my-key"), std::string::npos) << reply.body;
    }
}

TEST_F(HttpContract, I07_B046_B047_the_fingerprint_leaves_out_what_the_operation_calls_noise_and_nothing_else) {
    auto policy = by_header("createOrder");
    policy.noise = {"/clientRequestTime", "/lines/*/seen"};
    serve_orders(policy);
    const auto send = [&](const std::string& body) {
        return post("k", body, "/orders", {{"Content-Type", "application/json"}});
    };
    EXPECT_EQ(send(R"({"sku":1,"clientRequestTime":1,"lines":[{"n":1,"seen":1}]})").status, 201);
    EXPECT_TRUE(replayed(send(R"({"sku":1,"clientRequestTime":2,"lines":[{"n":1,"seen":2}]})")));
    EXPECT_TRUE(replayed(send(R"({"sku":1,"lines":[{"n":1}]})")));
    EXPECT_EQ(word(send(R"({"sku":2,"clientRequestTime":1,"lines":[{"n":1,"seen":1}]})")), "mismatch");
    EXPECT_EQ(word(send(R"({"sku":1,"clientRequestTime":1,"lines":[{"n":2,"seen":1}]})")), "mismatch");
    // The same name at another place is business.
    EXPECT_EQ(word(send(R"({"sku":1,"seen":1,"clientRequestTime":1,"lines":[{"n":1,"seen":1}]})")), "mismatch");
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpContract, I08_I17_a_malformed_key_is_refused_before_anything_is_looked_up) {
    const auto plan = std::make_shared<fakes::FaultPlan>();
    const auto counted = engine({}, std::make_shared<fakes::FaultyStore>(memory::store(), plan));
    open({}, counted).post("/orders", by_header(), [&](const Request& request) { return order(request); });
    serve();
    const auto asked = [&] { return plan->calls(fakes::StoreCall::begin) + plan->calls(fakes::StoreCall::find); };
    const auto before = asked();
    for (const auto& key : {std::string("\"unbalanced"), std::string("a, b"), std::string(256, 'k'),
                            std::string("caf\xC3\xA9"), std::string("' OR 1=1 --\xFF"), std::string("\"\\x\"")}) {
        const auto reply = post(key);
        EXPECT_EQ(reply.status, 400) << key;
        EXPECT_EQ(word(reply), "key-invalid") << key;
    }
    EXPECT_EQ(asked(), before);
    EXPECT_EQ(post("good").status, 201);
    EXPECT_GT(asked(), before);
}

TEST_F(HttpContract, I12_a_missing_or_malformed_key_names_the_header_and_the_format) {
    serve_orders();
    EXPECT_NE(detail(post("")).find("Idempotency-Key"), std::string::npos);
    const std::string lenient = detail(post("\"half"));
    for (const auto* part : {"Idempotency-Key", "1 to 255 printable ASCII characters", "double quotes", "bare"})
        EXPECT_NE(lenient.find(part), std::string::npos) << lenient;
    auto policy = by_header("createOrder");
    policy.key = header("X-Pay-Once");
    open({}, engine("nebis: {idempotent: {strict-key-header: true}}"))
        .post("/orders", policy, [&](const Request& request) { return order(request); });
    serve();
    const std::string strict = detail(request("POST", "/orders", {{"X-Pay-Once", "bare"}}, "tea"));
    EXPECT_NE(strict.find("X-Pay-Once"), std::string::npos) << strict;
    EXPECT_NE(strict.find("in double quotes)"), std::string::npos) << strict;
    EXPECT_EQ(runs, 0);
}

TEST_F(HttpContract, I14_a_mismatch_is_refused_each_time_and_a_conflict_only_while_it_lasts) {
    Door door;
    serve_slow_orders(door, by_header("createOrder"));
    std::thread first([&] { EXPECT_EQ(post("k").status, 201); });
    ASSERT_TRUE(door.reached());
    EXPECT_EQ(post("k").status, 409);
    EXPECT_EQ(post("k", "coffee").status, 422);  // the mismatch is known before the end of the first
    door.open();
    first.join();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(post("k", "coffee").status, 422);
    EXPECT_TRUE(replayed(post("k"))) << "unchanged, it may come again after a 409";
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpContract, I15_every_problem_that_may_be_answered_is_on_the_page_with_what_clients_do) {
    serve_orders();
    const auto page = request("GET", "/idempotency");
    for (const auto& reply : {post(""), post("\"k"), request("GET", "/nowhere"), request("DELETE", "/orders"),
                              post("k", "tea", "/orders", {{"X-HTTP-Method-Override", "PUT"}})}) {
        const std::string link = reply.header("Link");
        const std::string anchor = link.substr(link.find('#') + 1, link.find('>') - link.find('#') - 1);
        const auto at = page.body.find("id=\"" + anchor + "\"");
        ASSERT_NE(at, std::string::npos) << link;
        const auto entry = page.body.substr(at, page.body.find("<h3", at) - at);
        EXPECT_NE(entry.find(std::to_string(reply.status)), std::string::npos) << entry;
        EXPECT_NE(entry.find("Clients: "), std::string::npos) << entry;
    }
}

TEST_F(HttpContract, waiting_is_bounded_and_then_it_is_409) {
    auto policy = by_header("createOrder");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = 50ms;
    Door door;
    serve_slow_orders(door, policy);
    std::thread first([&] { EXPECT_EQ(post("k").status, 201); });
    ASSERT_TRUE(door.reached());
    const auto began = std::chrono::steady_clock::now();
    const auto late = post("k");
    EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(word(late), "in-progress");
    EXPECT_GE(std::stoi(late.header("Retry-After")), 1);
    door.open();
    first.join();
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpContract, statuses_of_conflicts_are_settings_and_the_problem_types_stay) {
    const auto configured = engine("nebis: {idempotent: {http: {in-progress-status: 425, mismatch-status: 409}}}");
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    Door door;
    web.emplace(configured, options);
    web->post("/orders", by_header("createOrder"), [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    std::thread first([&] { EXPECT_EQ(post("k").status, 201); });
    ASSERT_TRUE(door.reached());
    const auto busy = post("k"), other = post("k", "coffee");
    EXPECT_EQ(busy.status, 425);
    EXPECT_EQ(problem(busy).at("status").as_int64(), 425);
    EXPECT_EQ(word(busy), "in-progress");
    EXPECT_NE(busy.header("Retry-After"), "");
    EXPECT_EQ(other.status, 409);
    EXPECT_EQ(word(other), "mismatch");
    EXPECT_NE(request("GET", "/idempotency").body.find("425 with Retry-After"), std::string::npos);
    door.open();
    first.join();
}

TEST_F(HttpContract, a_held_outcome_is_409_of_its_own_type_with_an_id_for_support) {
    open().post("/orders", by_header(), [&](const Request&) -> Reply {
        ++runs;
        throw OutcomeUnknown("the bank hung up");
    });
    serve();
    EXPECT_EQ(word(post("k")), "outcome-unknown");
    const auto held = post("k");
    EXPECT_EQ(held.status, 409);
    EXPECT_EQ(word(held), "outcome-unknown");
    EXPECT_EQ(held.count("Retry-After"), 0u) << "nobody is asked, so coming back soon helps nobody";
    EXPECT_EQ(std::string(problem(held).at("instance").as_string()),
              "urn:nebis:request:" + held.header("X-Request-Id"));
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpContract, while_a_resolver_is_asked_a_held_outcome_says_when_to_come_back) {
    struct Bank : OutcomeResolver {
        Resolution resolve(const Record&, Deadline) override { return {}; }
    };
    auto policy = by_header();
    policy.on_unknown = OnUnknown::ask;
    policy.outcome_resolver = std::make_shared<Bank>();
    open().post("/orders", policy, [&](const Request&) -> Reply {
        ++runs;
        throw OutcomeUnknown("the bank hung up");
    });
    serve();
    post("k");
    const auto held = post("k");
    EXPECT_EQ(held.status, 409);
    EXPECT_EQ(word(held), "outcome-unknown");
    EXPECT_EQ(held.header("Retry-After"), "1");
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpContract, C11_a_fenced_off_attempt_is_503_and_a_retry_reads_what_counts) {
    const std::string quick =
        "nebis: {idempotent: {lock-expire-millis: 300, budget-millis: 250, lock-renew: {enabled: false}, "
        "on-unknown: retry, local-cache-millis: 0}}";
    const auto shared = memory::store();
    Door door;
    serve_slow_orders(door, by_header("createOrder"), engine(quick, shared));
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    Server other(engine(quick, shared), options);
    other.post("/orders", by_header("createOrder"), [](const Request&) { return Reply{201, "of the other"}; });
    ASSERT_TRUE(other.start());

    test::HttpReply slow;
    std::thread first([&] { slow = post("k"); });
    ASSERT_TRUE(door.reached());
    // For one lease after its start the other instance takes nothing over, then the lease of the first is over too.
    const auto taken_over = [&] {
        test::HttpClient elsewhere("127.0.0.1", other.port());
        const auto reply = elsewhere.post("/orders", "tea", {{"Idempotency-Key", "k"}});
        return reply && reply->status == 201;
    };
    EXPECT_TRUE(eventually(taken_over));
    door.open();
    first.join();
    EXPECT_EQ(slow.status, 503);
    EXPECT_EQ(word(slow), "fenced-off");
    EXPECT_GE(std::stoi(slow.header("Retry-After")), 1);
    const auto retry = post("k");
    EXPECT_TRUE(replayed(retry));
    EXPECT_EQ(retry.body, "of the other");
    EXPECT_EQ(runs, 1);
}

// Rows of a real file, edited by hand: named, counted, never executed, whatever may be done when a store is away.
TEST_F(HttpContract, B105_a_damaged_record_is_refused_with_its_id_and_counted_and_never_executed) {
    char name[] = "/tmp/nebis-http-XXXXXX";
    const std::filesystem::path folder = mkdtemp(name);
    const std::string file = folder / "shop.db";
    auto policy = by_header("createOrder");
    policy.on_store_failure = OnStoreFailure::allow;
    {
        Engine::Parts parts;
        parts.store = sqlite::store(sqlite::Options{.path = file, .create_schema = true});
        parts.configuration = "nebis: {idempotent: {local-cache-millis: 0}}";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        const Engine shop = Engine::make(std::move(parts)).value();
        open({}, shop).post("/orders", policy, [&](const Request& request) { return order(request); });
        serve();
        EXPECT_EQ(post("k").status, 201);
        EXPECT_TRUE(replayed(post("k")));
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(db, "UPDATE idempotent_record SET response_body = x'00'", nullptr, nullptr, nullptr),
                  SQLITE_OK);
        sqlite3_close(db);
        for (int i = 0; i < 2; ++i) {
            const auto reply = post("k");
            EXPECT_EQ(reply.status, 500);
            EXPECT_EQ(word(reply), "corrupt");
            EXPECT_NE(detail(reply).find("key "), std::string::npos) << detail(reply);
        }
        EXPECT_EQ(post("other").status, 201) << "others are not harmed";
        EXPECT_EQ(runs, 2);
        EXPECT_NE(shop.metrics().find("nebis_damaged_records_total{operation=\"createOrder\"} 2"), std::string::npos)
            << shop.metrics();
        web.reset();
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nebis::http
