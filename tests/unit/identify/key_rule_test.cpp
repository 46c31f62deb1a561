// SPDX-License-Identifier: Apache-2.0
#include "identify/identify.hpp"
#include "identify/key_rule_lint.hpp"
#include "support.hpp"

#include <set>

namespace nebis::identify_test {
namespace {

using namespace identify;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Identifier make(KeyRule key, auto change) {
    IdentifyRules rules{.operation = "op", .key = std::move(key)};
    change(rules);
    auto identifier = Identifier::make(std::move(rules));
    EXPECT_TRUE(identifier);
    return *identifier;
}
Identifier make(KeyRule key) {
    return make(std::move(key), [](IdentifyRules&) {});
}

TEST(KeyRuleDigest, S64_is_equal_for_equal_rules_and_pinned) {
    const auto digest = make("#request.orderId").rule_digest();
    EXPECT_EQ(digest, make("#request.orderId").rule_digest());
    EXPECT_THAT(digest, SizeIs(64));
    // Stores of running fleets hold it.
    EXPECT_EQ(digest, "9047517d9857850de5aa4c7ee6d60db82ed7555752c29e368372bd391206ab93");
}

TEST(KeyRuleDigest, S64_moves_with_all_that_decides_which_requests_meet) {
    std::set<std::string> digests = {make({}).rule_digest()};
    const auto differs = [&](const Identifier& identifier) {
        EXPECT_TRUE(digests.insert(identifier.rule_digest()).second);
    };
    differs(make("#request.orderId"));
    differs(make("#request.userId"));
    differs(make(header("Idempotency-Key")));
    differs(make(header("X-Biz-No")));
    differs(make(all_parameters()));
    differs(make(fields({"/a", "/b"})));
    differs(make(fields({"/b", "/a"})));
    differs(make(fields({"/a"})));
    differs(make({}, [](IdentifyRules& r) { r.scope = Scope::tenant; }));
    differs(make({}, [](IdentifyRules& r) { r.scope = Scope::shared; }));
    differs(make({}, [](IdentifyRules& r) { r.noise = {"/ts"}; }));
    differs(make({}, [](IdentifyRules& r) { r.default_noise = false; }));
}

TEST(KeyRuleDigest, S64_doesnt_move_with_anything_else) {
    const auto digest = make({}).rule_digest();
    EXPECT_EQ(digest, make({}, [](IdentifyRules& r) {
                          r.operation = "other";
                          r.key_required = false;
                          r.strict_key_header = true;
                          r.limits.max_bytes = 5;
                      }).rule_digest());
    EXPECT_EQ(make(header("Idempotency-Key")).rule_digest(), make({KeyRule::Kind::header, ""}).rule_digest())
        << "a default written out is the same rule";
    const auto two = make({}, [](IdentifyRules& r) { r.noise = {"/a", "/b"}; }).rule_digest();
    EXPECT_EQ(two, make({}, [](IdentifyRules& r) { r.noise = {"/b", "/a", "/nonce", "/b"}; }).rule_digest());
}

TEST(KeyRuleLint, S4_warns_about_time_chance_and_tracing) {
    for (const char* rule :
         {"#request.clientRequestTime", "#request.orderId + ':' + #request.timestamp", "#request.order['create_time']",
          "#request.nonce", "#request.randomNumber", "#request.trace_id", "#request.TRACEID",
          "#request.x.ts + #request.id", "#request.sendDate", "#request.requestId", "#headers['X-Request-Id']",
          "#headers['traceparent']", "#request.getCreateTime()", "#headers['x-b3-spanid'] + #request.signature"}) {
        EXPECT_THAT(make(rule).warnings(), SizeIs(1)) << rule;
    }
    for (const char* rule : {"#request.orderId", "#request.timetable", "#request.assignee", "#request.candidate",
                             "#request.mandate.id", "#request.traceless", "#request.times", "#request.brandName"}) {
        EXPECT_THAT(make(rule).warnings(), IsEmpty()) << rule;
    }
    EXPECT_THAT(make(fields({"/order/id", "/order/updateTime"})).warnings(), SizeIs(1));
    EXPECT_THAT(make(header("X-Request-Id")).warnings(), SizeIs(1));
    EXPECT_THAT(make(header("X-Request-Id")).warnings().at(0), HasSubstr("X-Request-Id"));
    EXPECT_THAT(make(header("Idempotency-Key")).warnings(), IsEmpty());
    EXPECT_THAT(make({}).warnings(), IsEmpty());
    EXPECT_THAT(make(all_parameters()).warnings(), IsEmpty());
    EXPECT_THAT(lint_key_rule(fields({"broken", ""}), {}), IsEmpty());
}

TEST(KeyRule, roots_are_checked_against_arguments) {
    const auto identifier = make("#request.id + ':' + #user + #principal + #tenant");
    EXPECT_THAT(identifier.roots(), testing::ElementsAre("request", "user", "principal", "tenant"));
    EXPECT_FALSE(check_roots(identifier, {"user", "request"}));
    const auto error = check_roots(identifier, {"request", "usr"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::misconfigured);
    EXPECT_THAT(error->message(), HasSubstr("#user"));
    EXPECT_THAT(error->hint(), HasSubstr("#request, #usr"));
    EXPECT_THAT(check_roots(identifier, {})->hint(), HasSubstr("nebis::args"));
    EXPECT_FALSE(check_roots(make({}), {}));
}

}  // namespace
}  // namespace nebis::identify_test
