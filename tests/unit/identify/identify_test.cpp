// SPDX-License-Identifier: Apache-2.0
#include "identify/identify.hpp"

#include "identify/digest.hpp"
#include "support.hpp"

#include <map>
#include <random>
#include <stdexcept>

namespace nebis::identify_test {
namespace {

using namespace identify;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Generator : KeyGenerator {
    std::function<Result<std::string>(const Request&)> make;
    explicit Generator(std::function<Result<std::string>(const Request&)> f) : make(std::move(f)) {}
    Result<std::string> generate(const Request& request) const override { return make(request); }
};

std::shared_ptr<const TokenService> tokens() {
    return value_of(TokenService::make({"k1", {{"k1", std::string(32, 's')}}}));
}

Identifier make(KeyRule key, auto change) {
    IdentifyRules rules{.operation = "createOrder", .key = std::move(key)};
    change(rules);
    auto identifier = Identifier::make(std::move(rules));
    EXPECT_TRUE(identifier) << testing::PrintToString(identifier.error());
    return *identifier;
}
Identifier make(KeyRule key = {}) {
    return make(std::move(key), [](IdentifyRules&) {});
}
Error make_error(KeyRule key, auto change) {
    IdentifyRules rules{.operation = "createOrder", .key = std::move(key)};
    change(rules);
    const auto error = error_of(Identifier::make(std::move(rules)));
    EXPECT_EQ(error.kind(), ErrorKind::misconfigured);
    return error;
}
Error make_error(KeyRule key) {
    return make_error(std::move(key), [](IdentifyRules&) {});
}

Request keyed(std::string key, std::string body = R"({"a":1})") {
    Request request = json_request(std::move(body));
    request.headers.push_back({"Idempotency-Key", std::move(key)});
    return request;
}

// ---- which key

TEST(Identify, S1_the_same_request_is_the_same_on_every_instance) {
    const auto one = value_of(make().identify(keyed("\"k-1\""))),
               other = value_of(make().identify(keyed("k-1", R"({ "a" : 1.0 })")));
    EXPECT_EQ(one.key, "k-1");
    EXPECT_EQ(one.trace_id, "||createOrder|k-1");
    EXPECT_EQ(one.trace_id, other.trace_id);
    EXPECT_EQ(one.hash, other.hash);
    EXPECT_TRUE(one.keyed);
}

TEST(Identify, S2_priority_of_the_automatic_rule) {
    const auto service = tokens();
    const auto identifier =
        make({KeyRule::Kind::automatic, "", {"/orderId"}}, [&](IdentifyRules& r) { r.tokens = service; });
    Request request = json_request(R"({"orderId":"o-1","n":1})");
    EXPECT_EQ(value_of(identifier.identify(request)).key, "o-1") << "marked fields";
    const auto token = value_of(service->create("createOrder"));
    request.headers.push_back({"X-Idempotent-Token", token});
    EXPECT_EQ(value_of(identifier.identify(request)).key, value_of(service->verify(token, "createOrder")))
        << "token before fields";
    request.headers.push_back({"Idempotency-Key", "k"});
    EXPECT_EQ(value_of(identifier.identify(request)).key, "k") << "header before all";
    EXPECT_THAT(value_of(make().identify(json_request(R"({"orderId":"o-1"})"))).key, testing::SizeIs(64))
        << "all parameters";
}

TEST(Identify, S2_all_parameters_hash_without_noise) {
    const auto key = [](std::string body) {
        return value_of(make(all_parameters()).identify(call(std::move(body)))).key;
    };
    EXPECT_EQ(key(R"({"r":{"a":1,"b":"x","timestamp":1,"nonce":"n1"}})"),
              key(R"({"r":{"b":"x","nonce":"n2","timestamp":2,"a":1.0}})"));
    EXPECT_NE(key(R"({"r":{"a":1}})"), key(R"({"r":{"a":2}})"));
    EXPECT_NE(key(R"({"r":{"a":"1"}})"), key(R"({"r":{"a":1}})"));
    EXPECT_NE(key(R"({"timestamp":1})"), key(R"({"timestamp":2})"))
        << "an argument of that name isn't noise, only fields inside arguments";
    // C10: fleets of different versions must make equal keys.
    EXPECT_EQ(key(R"({"r":{"a":1}})"), "454ec254f517755adb2839975c7e1d7dc555f4b61bd146f2103fc943117f68f3");
}

TEST(Identify, Z48_without_any_parameter_there_is_no_key) {
    for (const char* body : {"{}", R"({"a":null})", R"({"r":{"nonce":1}})", ""}) {
        EXPECT_THAT(make(all_parameters()).identify(call(body)), Refuses("key-missing")) << body;
        EXPECT_THAT(make().identify(call(body)), Refuses("key-missing")) << body;
    }
    EXPECT_THAT(make().identify({.method = "POST", .path = "/x"}), Refuses("key-missing"));
    EXPECT_TRUE(make().identify({.method = "POST", .path = "/x", .query = "id=7"}));
}

TEST(Identify, C01_S7_B001_a_missing_key_is_refused_or_unprotected_never_shared) {
    const auto rule = header("Idempotency-Key");
    const auto error = error_of(make(rule).identify(json_request("{}")));
    EXPECT_EQ(error.kind(), ErrorKind::rejected_input);
    EXPECT_EQ(error.code(), "key-missing");
    EXPECT_THAT(error.message(), HasSubstr("Idempotency-Key"));
    const auto optional = make(rule, [](IdentifyRules& r) { r.key_required = false; });
    const auto unkeyed = value_of(optional.identify(json_request("{}")));
    EXPECT_FALSE(unkeyed.keyed);
    EXPECT_THAT(unkeyed.trace_id, IsEmpty());
    EXPECT_THAT(unkeyed.key, IsEmpty());
    EXPECT_TRUE(value_of(optional.identify(keyed("k"))).keyed);
    for (const char* blank : {"", "  ", "\"\""})
        EXPECT_THAT(optional.identify(keyed(blank)), Refuses("key-invalid"))
            << "a client that means a key and sends none is broken";
    EXPECT_FALSE(
        value_of(make(all_parameters(), [](IdentifyRules& r) { r.key_required = false; }).identify(call("{}"))).keyed);
    EXPECT_THAT(
        make("#request.id", [](IdentifyRules& r) { r.key_required = false; }).identify(json_request(R"({"id":null})")),
        Refuses("key-missing"))
        << "S3: always an error";
}

TEST(Identify, B004_B005_C07_a_repeated_header_is_refused) {
    for (const char* second : {"k", "other"}) {
        Request request = keyed("k");
        request.headers.push_back({"IDEMPOTENCY-KEY", second});
        EXPECT_THAT(make().identify(request), Refuses("key-invalid"));
        EXPECT_THAT(make(header("Idempotency-Key")).identify(request), Refuses("key-invalid"));
    }
}

TEST(Identify, B007_B009_length_of_header_keys) {
    EXPECT_THAT(make().identify(keyed(std::string(256, 'k'))), Refuses("key-invalid"));
    EXPECT_TRUE(make().identify(keyed(std::string(255, 'k'))));
    Request one = keyed("k");
    one.principal = "u1";
    EXPECT_TRUE(make().identify(one));
    const auto shared = make({}, [](IdentifyRules& r) { r.scope = Scope::shared; });
    EXPECT_THAT(shared.identify(one), Refuses("key-invalid")) << "anybody would guess it";
    EXPECT_TRUE(shared.identify(keyed("kk")));
    EXPECT_TRUE(make("#id", [](IdentifyRules& r) { r.scope = Scope::shared; }).identify(call(R"({"id":7})")))
        << "keys that we make are another matter";
}

TEST(Identify, strict_headers_take_only_quoted_strings) {
    const auto strict = make(header("Idempotency-Key"), [](IdentifyRules& r) { r.strict_key_header = true; });
    EXPECT_TRUE(strict.identify(keyed("\"k\"")));
    EXPECT_THAT(strict.identify(keyed("k")), Refuses("key-invalid"));
}

TEST(Identify, B023_fields_that_cannot_be_a_key) {
    const auto identifier = make(fields({"/order/id", "/user"}));
    EXPECT_EQ(value_of(identifier.identify(json_request(R"({"order":{"id":7},"user":3})"))).key, "7:3");
    EXPECT_NE(value_of(identifier.identify(json_request(R"({"order":{"id":"1:2"},"user":3})"))).key,
              value_of(identifier.identify(json_request(R"({"order":{"id":1},"user":"2:3"})"))).key);
    EXPECT_EQ(value_of(identifier.identify(json_request(R"({"order":{"id":true},"user":"u"})"))).key, "true:u");
    for (const char* body : {R"({"order":{"id":null},"user":3})", R"({"order":{},"user":3})",
                             R"({"order":{"id":" "},"user":3})", "{}", ""}) {
        EXPECT_THAT(identifier.identify(json_request(body)), Refuses("key-missing")) << body;
    }
    EXPECT_THAT(error_of(identifier.identify(json_request("{}"))).message(), HasSubstr("/order/id"));
    for (const char* body : {R"({"order":{"id":{}},"user":3})", R"({"order":{"id":[1]},"user":3})"})
        EXPECT_THAT(identifier.identify(json_request(body)), Refuses("key-invalid")) << body;
    EXPECT_THAT(identifier.identify(json_request("{")), Refuses("body-invalid"));
}

TEST(Identify, S34_generators) {
    const auto with = [](std::function<Result<std::string>(const Request&)> f) {
        return make(generator("mine"),
                    [&](IdentifyRules& r) { r.generator = std::make_shared<Generator>(std::move(f)); });
    };
    EXPECT_EQ(value_of(with([](const Request& r) {
                           return r.text("/bizSeqNo");
                       }).identify(json_request(R"({"bizSeqNo":"S1"})")))
                  .key,
              "S1");
    EXPECT_THAT(with([](const Request& r) { return r.text("/bizSeqNo"); }).identify(json_request("{}")),
                Refuses("key-missing"));
    for (const char* blank : {"", " \t"})
        EXPECT_THAT(with([&](const Request&) { return std::string(blank); }).identify(json_request("{}")),
                    Refuses("key-missing"));
    EXPECT_THAT(with([](const Request&) { return std::string(5000, 'k'); }).identify(json_request("{}")),
                Refuses("key-invalid"));
    const auto error = error_of(with([](const Request&) -> Result<std::string> {
                                    throw std::runtime_error("s3cret");
                                }).identify(json_request("{}")));
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    EXPECT_EQ(error.code(), "key-generator-failed");
    EXPECT_THAT(error.text(), Not(HasSubstr("s3cret")));
}

TEST(Identify, S5_B025_tokens_from_header_or_body) {
    const auto service = tokens();
    const auto identifier = make(one_time_token("X-Idempotent-Token", "/token"),
                                 [&](IdentifyRules& r) { r.tokens = service, r.retention = 24h; });
    const auto token = value_of(service->create("createOrder", "u1", "t1"));
    const auto request = [&](std::string body, std::vector<Header> headers = {}) {
        Request r = json_request(std::move(body));
        r.headers = std::move(headers), r.principal = "u1", r.tenant = "t1";
        return r;
    };
    const auto key = value_of(service->verify(token, "createOrder", "u1", "t1"));
    EXPECT_EQ(value_of(identifier.identify(request("{}", {{"x-idempotent-token", " " + token + " "}}))).key, key);
    EXPECT_EQ(value_of(identifier.identify(request("{\"token\":\"" + token + "\"}"))).key, key);
    EXPECT_EQ(value_of(identifier.identify(request("{\"token\":\"" + token + "\"}"))).trace_id,
              "t1|u1|createOrder|" + key);
    for (const auto& missing : {request("{}"), request(""), request(R"({"token":null})")})
        EXPECT_THAT(identifier.identify(missing), Refuses("key-missing"));
    EXPECT_THAT(identifier.identify(request(R"({"token":{}})")), Refuses("key-invalid"));
    EXPECT_THAT(identifier.identify(request(R"({"token":"any string"})")), Refuses("token-unknown"));
    EXPECT_THAT(identifier.identify(request("{}", {{"X-Idempotent-Token", " "}})), Refuses("token-unknown"));
    EXPECT_THAT(identifier.identify(request("{}", {{"X-Idempotent-Token", token}, {"X-Idempotent-Token", token}})),
                Refuses("key-invalid"));
    Request stolen = request("{}", {{"X-Idempotent-Token", token}});
    stolen.principal = "u2";
    EXPECT_THAT(identifier.identify(stolen), Refuses("token-foreign"));
    EXPECT_THAT(make(one_time_token(), [&](IdentifyRules& r) { r.tokens = service; }).identify(request("{}")),
                Refuses("key-missing"));
}

TEST(Identify, without_a_token_service_the_automatic_rule_looks_for_no_token) {
    Request request = json_request(R"({"a":1})");
    request.headers = {{"X-Idempotent-Token", "any string"}};
    EXPECT_THAT(value_of(make().identify(request)).key, testing::SizeIs(64));
    Request twice = request;
    twice.headers.push_back(twice.headers[0]);
    EXPECT_THAT(make({}, [](IdentifyRules& r) { r.tokens = tokens(); }).identify(twice), Refuses("key-invalid"));
}

// ---- whose key

TEST(Identify, C54_Z20_B026_B027_scopes) {
    const auto id = [](Scope scope, std::string tenant, std::string principal, std::string operation = "pay") {
        Request request = keyed("key-1");
        request.tenant = std::move(tenant), request.principal = std::move(principal);
        return value_of(make({}, [&](IdentifyRules& r) { r.scope = scope, r.operation = operation; }).identify(request))
            .trace_id;
    };
    EXPECT_EQ(id(Scope::caller, "t1", "u1"), "t1|u1|pay|key-1");
    EXPECT_NE(id(Scope::caller, "t1", "u1"), id(Scope::caller, "t1", "u2"));
    EXPECT_NE(id(Scope::caller, "t1", "u1"), id(Scope::caller, "t2", "u1"));
    EXPECT_NE(id(Scope::caller, "t1", "u1"), id(Scope::caller, "t1", "u1", "refund"));
    EXPECT_EQ(id(Scope::caller, "t1", ""), "t1||pay|key-1") << "without a principal the scope is the tenant";
    EXPECT_EQ(id(Scope::caller, "", ""), "||pay|key-1") << "a function call has no caller";
    EXPECT_EQ(id(Scope::tenant, "t1", "u1"), id(Scope::tenant, "t1", "u2"));
    EXPECT_NE(id(Scope::tenant, "t1", "u1"), id(Scope::tenant, "t2", "u1"));
    EXPECT_EQ(id(Scope::shared, "t1", "u1"), id(Scope::shared, "t2", "u2"));
}

TEST(Identify, S1_a_required_caller_must_be_there) {
    const auto required = [](Scope scope) {
        return make({}, [&](IdentifyRules& r) { r.scope = scope, r.caller_required = true; });
    };
    Request request = keyed("key-1");
    EXPECT_THAT(required(Scope::caller).identify(request), Refuses("caller-missing"));
    EXPECT_THAT(required(Scope::tenant).identify(request), Refuses("caller-missing"));
    EXPECT_TRUE(required(Scope::shared).identify(request));
    request.tenant = "t1";
    EXPECT_THAT(required(Scope::caller).identify(request), Refuses("caller-missing"));
    EXPECT_TRUE(required(Scope::tenant).identify(request));
    request.principal = "u1";
    EXPECT_TRUE(required(Scope::caller).identify(request));
}

// ---- what is compared

TEST(Identify, Z22_B029_the_hash_tells_another_request_under_the_same_key) {
    const auto one = value_of(make().identify(keyed("k", R"({"amount":1})"))),
               other = value_of(make().identify(keyed("k", R"({"amount":2})")));
    EXPECT_EQ(one.trace_id, other.trace_id);
    EXPECT_NE(one.hash, other.hash);
}

TEST(Identify, B046_S4_noise_of_settings_and_defaults) {
    const auto identifier = make({}, [](IdentifyRules& r) { r.noise = {"/items/*/seenAt"}; });
    const auto hash = [&](const Identifier& i, std::string body) {
        return value_of(i.identify(keyed("k", std::move(body)))).hash;
    };
    EXPECT_EQ(hash(identifier, R"({"clientRequestTime":1,"items":[{"seenAt":1,"n":1}]})"),
              hash(identifier, R"({"clientRequestTime":2,"items":[{"seenAt":2,"n":1}]})"));
    const auto plain = make({}, [](IdentifyRules& r) { r.default_noise = false; });
    EXPECT_NE(hash(plain, R"({"clientRequestTime":1})"), hash(plain, R"({"clientRequestTime":2})"));
}

TEST(Identify, C08_identity_is_a_value_of_its_own) {
    Request request = keyed("k");
    const auto identity = value_of(make().identify(request));
    const auto kept = identity;
    request.body = R"({"a":1,"processed":true})";
    request.headers.clear();
    EXPECT_EQ(identity.key, kept.key);
    EXPECT_EQ(identity.hash, kept.hash);
    EXPECT_EQ(identity.trace_id, kept.trace_id);
}

TEST(Identify, hashes_again_under_the_scheme_of_the_row) {
    Request request = keyed("k");
    request.query = "b=1&a=2";
    const auto identity = value_of(make().identify(request));
    EXPECT_EQ(identity.hash, value_of(make().hash(request)));
    EXPECT_EQ(value_of(make().hash(request, previous_scheme)).scheme, previous_scheme);
    EXPECT_NE(value_of(make().hash(request, previous_scheme)), identity.hash);
    EXPECT_EQ(error_of(make().hash(request, 9)).kind(), ErrorKind::unsupported);
    EXPECT_EQ(value_of(make().hash(call(R"({"r":{"nonce":1}})"))), value_of(make().hash(call(R"({"r":{"nonce":2}})"))));
}

TEST(Identify, bodies_that_cannot_be_hashed_are_refused_whatever_the_key) {
    EXPECT_THAT(make().identify(keyed("k", R"({"a":1,"a":2})")), Refuses("body-invalid"));
    EXPECT_THAT(make(all_parameters()).identify(call("{")), Refuses("body-invalid"));
    EXPECT_THAT(make({}, [](IdentifyRules& r) { r.limits.max_bytes = 3; }).identify(keyed("k")),
                Refuses("body-too-large"));
}

TEST(Identify, C56_no_error_holds_key_token_or_body) {
    const auto strict = make(header("Idempotency-Key"), [](IdentifyRules& r) { r.strict_key_header = true; });
    for (const auto& error :
         {error_of(strict.identify(keyed("s3cret"))), error_of(make().identify(keyed("s3cret,s3cret"))),
          error_of(make().identify(keyed("k", "s3cret"))),
          error_of(make(fields({"/a"})).identify(json_request(R"({"a":{"s3cret":1}})"))),
          error_of(make("#request.a.b").identify(json_request(R"({"a":"s3cret"})")))}) {
        EXPECT_THAT(error.text(), Not(HasSubstr("s3cret")));
    }
}

// ---- making one

TEST(IdentifierMake, S3_says_where_an_expression_is_wrong) {
    const auto error = make_error("#request.orderId + + 1");
    EXPECT_THAT(error.message(), HasSubstr("createOrder"));
    EXPECT_THAT(error.message(), HasSubstr("column 20"));
    EXPECT_THAT(make_error("'constant'").hint(), HasSubstr("#request"));
}

TEST(IdentifierMake, refuses_what_cannot_work) {
    EXPECT_THAT(make_error(fields({})).message(), HasSubstr("no field"));
    EXPECT_THAT(make_error(fields({"orderId"})).message(), HasSubstr("orderId"));
    EXPECT_THAT(make_error(generator("mine")).message(), HasSubstr("mine"));
    EXPECT_THAT(make_error(one_time_token()).message(), HasSubstr("token"));
    EXPECT_THAT(make_error(one_time_token("X", "no-pointer"), [](IdentifyRules& r) { r.tokens = tokens(); }).message(),
                HasSubstr("no-pointer"));
    EXPECT_THAT(make_error({}, [](IdentifyRules& r) { r.noise = {"nonce"}; }).message(), HasSubstr("nonce"));
    EXPECT_THAT(make_error({}, [](IdentifyRules& r) { r.limits.max_depth = 0; }).message(), HasSubstr("depth"));
    EXPECT_THAT(make_error({}, [](IdentifyRules& r) { r.limits.max_depth = 501; }).message(), HasSubstr("depth"));
    for (auto change : std::initializer_list<void (*)(IdentifyRules&)>{
             [](IdentifyRules& r) { r.key_min = 0; }, [](IdentifyRules& r) { r.key_min = 300; },
             [](IdentifyRules& r) { r.public_key_min = 300; }, [](IdentifyRules& r) { r.key_max = 5000; }}) {
        EXPECT_THAT(make_error({}, change).message(), HasSubstr("length"));
    }
    for (const std::string& name :
         {std::string(), std::string(65, 'o'), std::string("a|b"), std::string("a\nb"), std::string("\xc3\xa9")}) {
        EXPECT_THAT(make_error({}, [&](IdentifyRules& r) { r.operation = name; }).message(), HasSubstr("name"));
    }
    EXPECT_TRUE(Identifier::make({
        .operation = "POST /orders/{id}:pay_now.v-1",
    }));
}

TEST(IdentifierMake, S5_tokens_must_die_before_their_records) {
    for (const KeyRule& rule : {one_time_token(), KeyRule()}) {
        EXPECT_THAT(make_error(rule, [](IdentifyRules& r) { r.tokens = tokens(), r.retention = 10min; }).message(),
                    HasSubstr("lifetime"));
        make(rule, [](IdentifyRules& r) { r.tokens = tokens(), r.retention = 31min; });
    }
    make(header("K"), [](IdentifyRules& r) { r.tokens = tokens(), r.retention = 10min; });
}

TEST(IdentifierMake, remembers_its_rules) {
    EXPECT_EQ(make(one_time_token(""), [](IdentifyRules& r) { r.tokens = tokens(); }).rules().key.text(),
              "X-Idempotent-Token");
    EXPECT_EQ(make().rules().operation, "createOrder");
}

// ---- request id

TEST(RequestId, S6_passes_through_or_is_derived_and_is_never_identity) {
    Request request = keyed("k");
    const auto identity = value_of(make().identify(request));
    const auto derived = request_id_for(request, identity);
    EXPECT_THAT(derived, testing::MatchesRegex("[0-9a-f]{32}"));
    EXPECT_EQ(derived, request_id_for(request, identity)) << "the same on every retry";
    EXPECT_NE(derived, request_id_for(request, value_of(make().identify(keyed("other")))));
    request.request_id = "chain-7";
    EXPECT_EQ(request_id_for(request, identity), "chain-7");
    EXPECT_EQ(value_of(make().identify(request)).hash, identity.hash);
    EXPECT_EQ(value_of(make().identify(request)).trace_id, identity.trace_id);
    request.request_id = std::string(128, 'r');
    EXPECT_EQ(request_id_for(request, identity), request.request_id);
    for (const std::string& mad : {std::string(129, 'r'), std::string("a b"), std::string("a\nb"),
                                   std::string("\xc3\xa9"), std::string("\x7f")}) {
        request.request_id = mad;
        EXPECT_EQ(request_id_for(request, identity), derived);
    }
    EXPECT_EQ(request_id_for(request, Identity{.keyed = false}), "");
}

TEST(Identification, property_requests_of_one_verbatim_digest_have_one_hash) {
    IdentifyRules rules;
    rules.operation = "op";
    rules.key = KeyRule(KeyRule::Kind::header, "K");
    rules.noise = {"/noise", "/*/a"};
    const Identifier identifier = Identifier::make(rules).value();
    std::mt19937 random(7);
    const auto one_of = [&](std::initializer_list<const char*> all) {
        return std::string(*(all.begin() + static_cast<std::ptrdiff_t>(random() % all.size())));
    };
    std::map<Digest, RequestHash> seen;
    int again = 0;
    for (int round = 0; round < 20'000; ++round) {
        Request request;
        request.method = one_of({"POST", "PUT"});
        request.path = one_of({"/a", "/ab"});
        request.query = one_of({"", "b=2&a=1", "a=1&b=2", "a"});
        request.content_type = one_of(
            {"", "application/json", "application/x-www-form-urlencoded", "text/plain", "text/plain;charset=latin1"});
        request.body = one_of(
            {"", "a=1", R"({"a":1})", R"({"a":1,"noise":2})", R"({"x":{"a":1}})", R"({"x":{"a":2}})", R"({"a":1.0})"});
        request.arguments = random() % 2 == 0;
        request.headers = {{"K", "k"}};
        if (random() % 2) request.headers.push_back({"If-Match", one_of({"1", "2", ""})});
        if (random() % 2) request.headers.push_back({one_of({"Range", "If-Range", "Accept"}), one_of({"1", "2"})});
        if (random() % 8 == 0) request.headers.push_back({"Content-Encoding", one_of({"gzip", "identity"})});
        Identification who(identifier, request);
        ASSERT_TRUE(who.key());
        const auto hash = who.hash();
        if (!hash) continue;  // not every text is a body of every type
        ASSERT_TRUE(who.hashed());
        const auto [place, fresh] = seen.emplace(who.verbatim(), *hash);
        ASSERT_EQ(place->second, *hash) << request.body;
        again += fresh ? 0 : 1;
    }
    EXPECT_GT(again, 1'000);
    EXPECT_GT(seen.size(), 1'000U);
}

}  // namespace
}  // namespace nebis::identify_test
