// SPDX-License-Identifier: Apache-2.0
#include "identify/canonical.hpp"

#include "identify/digest.hpp"
#include "support.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace nebis::identify_test {
namespace {

using namespace identify;

const HashLimits limits;

RequestHash hash(const Request& request, std::vector<std::string> noise = {}, std::uint8_t scheme = current_scheme) {
    return value_of(hash_request(request, value_of(NoiseFilter::make(noise)), limits, scheme));
}
RequestHash json(std::string body, std::vector<std::string> noise = {}) {
    return hash(json_request(std::move(body)), std::move(noise));
}
auto refusal(const Request& request) { return hash_request(request, {}, limits); }
Request with(Request request, auto change) {
    change(request);
    return request;
}

TEST(Canonical, C02_B032_B033_member_order_and_whitespace_say_nothing) {
    EXPECT_EQ(json(R"({"a":1,"b":{"x":1,"y":2}})"), json(R"({ "b" : {"y":2, "x":1},
        "a":1 })"));
    EXPECT_EQ(json(R"({"b":1,"a":2,"c":3,"ab":4,"":5})"), json(R"({"":5,"ab":4,"c":3,"a":2,"b":1})"));
    EXPECT_EQ(json(R"({"same-prefix-1":1,"same-prefix-2":2})"), json(R"({"same-prefix-2":2,"same-prefix-1":1})"));
}

TEST(Canonical, C02_array_order_and_json_inside_strings_count) {
    EXPECT_NE(json(R"({"items":[1,2]})"), json(R"({"items":[2,1]})"));
    EXPECT_NE(json(R"({"s":"{\"a\":1}"})"), json(R"({"s":"{ \"a\":1}"})"));
}

TEST(Canonical, C02_B037_repeated_members_are_refused) {
    EXPECT_THAT(refusal(json_request(R"({"amt":1,"amt":2})")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request(R"({"amt":1,"amt":1})")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request(R"({"x":[{"amt":1,"\u0061mt":1}]})")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request(R"({"":1,"":1})")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request(R"({"long-name-1":1,"z":0,"long-name-1":1})")), Refuses("body-invalid"));
    EXPECT_TRUE(refusal(json_request(R"({"a":{"amt":1},"b":{"amt":2},"amt":3})")))
        << "in different objects they are different members";
}

TEST(Canonical, B037_B039_raw_mode_takes_the_bytes) {
    HashLimits raw;
    raw.raw_bodies = true;
    const auto raw_hash = [&](std::string body) {
        return value_of(hash_request(json_request(std::move(body)), {}, raw));
    };
    EXPECT_NE(raw_hash(R"({"amt":1,"amt":2})"), raw_hash(R"({"amt":2,"amt":1})"));
    EXPECT_NE(raw_hash("{ }"), raw_hash("{}"));
    EXPECT_EQ(raw_hash("\xff"), raw_hash("\xff"));
}

TEST(Canonical, C03_B046_noise_is_left_out_by_exact_path) {
    const std::vector<std::string> noise = {"/clientRequestTime", "/traceId", "/requestToken", "/envelope/id"};
    const auto first = json(
        R"({"clientRequestTime":1,"traceId":"a","requestToken":"x","envelope":{"id":7,"kind":"k"},"order":{"traceId":"business"}})",
        noise);
    EXPECT_EQ(
        first,
        json(
            R"({"clientRequestTime":2,"traceId":"b","requestToken":"y","envelope":{"id":8,"kind":"k"},"order":{"traceId":"business"}})",
            noise));
    EXPECT_EQ(first, json(R"({"envelope":{"kind":"k"},"order":{"traceId":"business"}})", noise));
    EXPECT_NE(first, json(R"({"envelope":{"kind":"k"},"order":{"traceId":"other"}})", noise))
        << "a field of the same name elsewhere counts";
    EXPECT_NE(first, json(R"({"envelope":{"kind":"j"},"order":{"traceId":"business"}})", noise));
}

TEST(Canonical, C03_B047_noise_inside_arrays) {
    const std::vector<std::string> noise = {"/items/*/ts", "/tags/0"};
    EXPECT_EQ(json(R"({"items":[{"ts":1,"n":1},{"ts":2,"n":2}],"tags":["a","b"]})", noise),
              json(R"({"items":[{"n":1},{"n":2,"ts":9}],"tags":["z","b"]})", noise));
    EXPECT_NE(json(R"({"items":[{"ts":1,"n":1}],"tags":["a","b"]})", noise),
              json(R"({"items":[{"ts":1,"n":1}],"tags":["a","c"]})", noise));
    EXPECT_NE(json(R"({"items":{"deep":{"more":{"ts":1}}}})", noise),
              json(R"({"items":{"deep":{"more":{"ts":2}}}})", noise));
}

TEST(Canonical, C04_B034_numbers_by_value) {
    for (const char* ten : {"10.0", "1e1", "10.00", "1E+1"})
        EXPECT_EQ(json(R"({"n":10})"), json(std::string(R"({"n":)") + ten + "}")) << ten;
    for (const char* one : {"1.0", "1e0", "10e-1"}) EXPECT_EQ(json("1"), json(one));
    EXPECT_EQ(json("-0"), json("0"));
}

TEST(Canonical, C04_B035_no_number_goes_through_double) {
    EXPECT_NE(json("9007199254740992"), json("9007199254740993"));
    EXPECT_NE(json("0.1"), json("0.10000000000000001"));
    EXPECT_NE(json(R"("10")"), json("10")) << "text and number differ";
    EXPECT_NE(json(R"("true")"), json("true"));
    EXPECT_NE(json(R"("")"), json("null"));
}

TEST(Canonical, C04_B036_extreme_numbers_are_text_within_bounds) {
    EXPECT_NE(json("1e400"), json("1e401"));
    EXPECT_EQ(json("1e400"), json("10e399"));
    const std::string long_number(400, '7');
    EXPECT_NE(json(long_number), json(long_number.substr(1) + "8"));
    EXPECT_THAT(refusal(json_request("1e1001")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("[{\"n\":" + std::string(1001, '7') + "}]")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("NaN")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("+1")), Refuses("body-invalid"));
}

TEST(Canonical, structure_never_leaks_into_values) {
    // Each of these once collided in some canonicaliser.
    const std::vector<std::string> bodies = {R"({"a":{"b":1}})",
                                             R"({"a":{},"b":1})",
                                             R"({"a":[1]})",
                                             R"([{"a":1}])",
                                             R"([["a",1]])",
                                             R"(["a",1])",
                                             R"({"a":1})",
                                             R"({"a1":null})",
                                             R"([])",
                                             R"({})",
                                             R"([[]])",
                                             R"([{}])",
                                             R"([null])",
                                             R"([0])",
                                             R"([""])",
                                             R"("")",
                                             "null",
                                             "0",
                                             "false",
                                             "true",
                                             R"([1,23])",
                                             R"([12,3])",
                                             R"([123])",
                                             R"(["a","b"])",
                                             R"(["ab"])",
                                             R"(["a\u0000b"])",
                                             R"({"a":"b"})",
                                             R"({"b":"a"})",
                                             R"([[1],[2]])",
                                             R"([[1,2]])",
                                             R"([[[1]],2])"};
    std::set<RequestHash> hashes;
    for (const auto& body : bodies) EXPECT_TRUE(hashes.insert(json(body)).second) << body;
    // A name as long as a closing brace is a byte.
    EXPECT_NE(json(R"({")" + std::string(125, 'x') + R"(":1})"), json("{}"));
}

TEST(Canonical, B038_B039_B040_B041_broken_json_is_refused) {
    EXPECT_THAT(refusal(json_request(std::string(100000, '['))), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("\"\xff\"")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request(R"("\ud800")")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("\xef\xbb\xbf{}")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("{} x")), Refuses("body-invalid"));
    EXPECT_THAT(refusal(json_request("<order/>")), Refuses("body-invalid"));
}

TEST(Canonical, B042_empty_missing_and_empty_object_are_three) {
    const auto empty = hash(json_request(""));
    const auto missing = hash({.method = "POST", .path = "/orders"});
    const auto object = hash(json_request("{}"));
    EXPECT_NE(empty, missing);
    EXPECT_NE(empty, object);
    EXPECT_NE(missing, object);
    EXPECT_NE(hash({.method = "POST", .path = "/orders", .body = "{}"}), object);
}

TEST(Canonical, B029_B030_B031_Z22_C09_everything_that_changes_the_meaning_counts) {
    const Request base = with(json_request(R"({"a":1})"), [](Request& r) { r.query = "dry=1"; });
    std::set<RequestHash> hashes = {hash(base)};
    const auto differs = [&](auto change) { EXPECT_TRUE(hashes.insert(hash(with(base, change))).second); };
    differs([](Request& r) { r.body = R"({"a":2})"; });
    differs([](Request& r) { r.method = "PUT"; });
    differs([](Request& r) { r.path = "/orders/7"; });
    differs([](Request& r) { r.path = "/orders/"; });
    differs([](Request& r) { r.query = ""; });
    differs([](Request& r) { r.query = "dry=0"; });
    differs([](Request& r) { r.content_type = "application/vnd.order+json"; });
    differs([](Request& r) { r.content_type = "text/plain"; });
    EXPECT_EQ(hash(base), hash(with(base, [](Request& r) { r.content_type = "Application/Json; charset=utf-8"; })));
    EXPECT_EQ(hash(base), hash(with(base, [](Request& r) {
                  r.principal = "u2", r.tenant = "t", r.request_id = "r",
                  r.headers = {{"User-Agent", "x"}, {"Accept", "*/*"}, {"", "y"}};
              })));
}

TEST(Canonical, C09_query_order_of_names_says_nothing_order_of_repeats_does) {
    const auto query = [](std::string text) { return hash({.method = "GET", .path = "/x", .query = std::move(text)}); };
    EXPECT_EQ(query("a=1&b=2"), query("b=2&a=1"));
    EXPECT_EQ(query("a=1&&b=2&"), query("a=1&b=2"));
    EXPECT_NE(query("a=1&a=2"), query("a=2&a=1"));
    EXPECT_EQ(query("a=1&b=0&a=2"), query("b=0&a=1&a=2"));
    EXPECT_NE(query("a="), query("a"));
    EXPECT_NE(query("a=1"), query("a=%31")) << "bytes, not meanings";
    EXPECT_NE(query("a=1&b=2"), query("a=1%26b=2"));
    EXPECT_NE(query("ab=1"), query("a=b1"));
}

TEST(Canonical, N27_preconditions_and_ranges_count) {
    const Request base = json_request("{}");
    const auto headers = [&](std::vector<Header> h) {
        return hash(with(base, [&](Request& r) { r.headers = std::move(h); }));
    };
    std::set<RequestHash> hashes = {headers({})};
    for (auto& h : std::vector<std::vector<Header>>{{{"If-Match", "\"1\""}},
                                                    {{"If-Match", "\"2\""}},
                                                    {{"If-None-Match", "\"1\""}},
                                                    {{"If-Unmodified-Since", "x"}},
                                                    {{"Range", "bytes=0-1"}},
                                                    {{"X-HTTP-Method-Override", "DELETE"}},
                                                    {{"If-Match", "\"1\""}, {"If-Match", "\"2\""}},
                                                    {{"If-Match", "\"2\""}, {"If-Match", "\"1\""}}}) {
        EXPECT_TRUE(hashes.insert(headers(h)).second);
    }
    EXPECT_EQ(headers({{"IF-MATCH", " 1 "}, {"Range", "r"}}), headers({{"range", "r"}, {"If-Match", "1"}}));
    EXPECT_EQ(headers({{"I", "1"}, {"Iffy", "2"}, {"Ranger", "3"}}), headers({}));
}

TEST(Canonical, B043_B044_raw_bodies_are_bytes) {
    const auto raw = [](std::string type, std::string body) {
        return hash({.method = "POST", .path = "/x", .content_type = std::move(type), .body = std::move(body)});
    };
    EXPECT_NE(raw("text/plain", "a b"), raw("text/plain", "a  b"));
    EXPECT_NE(raw("multipart/form-data; boundary=1", "--1"), raw("multipart/form-data; boundary=2", "--2"));
    EXPECT_EQ(raw("multipart/form-data; boundary=1", "x"), raw("multipart/form-data; boundary=2", "x"));
    EXPECT_NE(raw("text/plain; charset=utf-8", "x"), raw("text/plain; charset=latin1", "x"));
    EXPECT_EQ(raw("text/plain; charset=UTF-8", "x"), raw("Text/Plain;charset=\"utf-8\"", "x"));
    Request packed = json_request("\x1f\x8bxx");
    const auto plain = refusal(packed);
    EXPECT_THAT(plain, Refuses("body-invalid"));
    packed.headers = {{"Content-Encoding", "gzip"}};
    EXPECT_TRUE(refusal(packed));
}

TEST(Canonical, B048_B049_size_is_bounded_for_every_kind) {
    HashLimits small;
    small.max_bytes = 4;
    EXPECT_THAT(hash_request(json_request("[1,2]"), {}, small), Refuses("body-too-large"));
    EXPECT_THAT(hash_request({.content_type = "text/plain", .body = "12345"}, {}, small), Refuses("body-too-large"));
    EXPECT_THAT(hash_request({.content_type = "application/x-www-form-urlencoded", .body = "a=123"}, {}, small),
                Refuses("body-too-large"));
    EXPECT_TRUE(hash_request({.content_type = "text/plain", .body = "1234"}, {}, small));
}

TEST(Canonical, B053_form_pairs_by_name) {
    const auto form = [](std::string body, std::vector<std::string> noise = {}) {
        return hash({.method = "POST",
                     .path = "/x",
                     .content_type = "application/x-www-form-urlencoded",
                     .body = std::move(body)},
                    std::move(noise));
    };
    EXPECT_EQ(form("a=1&b=2"), form("b=2&a=1"));
    EXPECT_EQ(form("a=x+y"), form("%61=x%20y"));
    EXPECT_NE(form("a=1&a=2"), form("a=2&a=1"));
    EXPECT_EQ(form("b=0&a=1&a=2&long-name=1&long-name=2"), form("a=1&long-name=1&a=2&long-name=2&b=0"));
    EXPECT_NE(form("a=1%26b=2"), form("a=1&b=2"));
    EXPECT_EQ(form("a=1&nonce=5", {"/nonce"}), form("nonce=6&a=1", {"/nonce"}));
    EXPECT_THAT(refusal({.content_type = "application/x-www-form-urlencoded", .body = "a=%zz"}),
                Refuses("body-invalid"));
    EXPECT_NE(form("a=1"), hash({.method = "POST", .path = "/x", .content_type = "application/x-www-form-urlencoded"}));
}

TEST(Canonical, schemes_differ_where_documented_and_unknown_ones_are_no_mismatch) {
    const Request one{.method = "POST", .path = "/x", .query = "a=1&b=2"},
        other{.method = "POST", .path = "/x", .query = "b=2&a=1"};
    EXPECT_EQ(hash(one).scheme, current_scheme);
    EXPECT_EQ(hash(one, {}, previous_scheme).scheme, previous_scheme);
    EXPECT_EQ(hash(one), hash(other));
    EXPECT_NE(hash(one, {}, previous_scheme), hash(other, {}, previous_scheme));
    EXPECT_NE(hash(one, {}, previous_scheme).digest, hash(one).digest);
    for (const int scheme : {0, 3, 255}) {
        const auto error = error_of(hash_request(one, {}, limits, static_cast<std::uint8_t>(scheme)));
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_EQ(error.code(), "scheme-unknown");
    }
}

TEST(Canonical, counts_what_says_something) {
    const auto parameters = [](const Request& request) {
        Body body(request, limits);
        return value_of(canonical_hash(request, body, value_of(NoiseFilter::make(std::vector<std::string>{"/nonce"})),
                                       limits))
            .parameters;
    };
    EXPECT_EQ(parameters(call("{}")), 0u);
    EXPECT_EQ(parameters(call(R"({"nonce":1,"a":null,"b":[],"c":{"d":null}})")), 0u);
    EXPECT_EQ(parameters(call(R"({"a":1,"b":["x",true]})")), 3u);
    EXPECT_EQ(parameters({.method = "POST", .path = "/x"}), 0u);
    EXPECT_EQ(parameters({.method = "POST", .path = "/x", .query = "a=1&b"}), 2u);
    EXPECT_EQ(parameters({.body = "raw"}), 1u);
}

// C10: the bytes are the same in every build, on every machine, for ever: rows of running fleets hold them.
TEST(Canonical, C10_hashes_are_pinned) {
    const Request request{.method = "POST",
                          .path = "/orders",
                          .query = "b=2&a=1",
                          .content_type = "application/json; charset=utf-8",
                          .body = R"({"userId":7,"orderId":"A-1","lines":[{"n":1.50,"ok":true},null],"timestamp":5})",
                          .headers = {{"If-Match", "\"3\""}, {"Host", "x"}}};
    const auto hex = [](const RequestHash& h) { return to_hex(h.digest); };
    EXPECT_EQ(hex(hash(request, {"/timestamp"}, 2)),
              "045727361b1ba9efb3f31719302d54103851b5406159afbdc70da20b19dcf760");
    EXPECT_EQ(hex(hash(request, {"/timestamp"}, 1)),
              "1dd3f7341b82b1cadd1d7abe5c75d7dfe32ddc42f2161310276582191350daf9");
    // Written out by hand, from the description in canonical.hpp.
    std::string bytes =
        "\x02\x04POST\x07/ordersq\x03"
        "a=1q\x03"
        "b=2t\x10"
        "application/jsonh\x08if-match\x03\"3\"bj{";
    bytes +=
        "m\x05lines[{m\x01nn\x03"
        "1.5m\x02okt}0]m\x07orderIds\x03"
        "A-1m\x06userIdn\x01"
        "7}";
    EXPECT_EQ(hash(request, {"/timestamp"}).digest, sha256(bytes));
}

TEST(Canonical, C10_large_bodies_hash_like_small_ones) {
    // Larger than every buffer on the way.
    const std::string text(100000, 'x');
    EXPECT_EQ(json(R"({"b":")" + text + R"(","a":1})"), json(R"({"a":1, "b":")" + text + R"("})"));
    EXPECT_NE(json(R"({"b":")" + text + R"("})"), json(R"({"b":")" + text + R"(x"})"));
    std::string ascending = "{\"k0\":0", descending = "\"k0\":0}";
    for (int i = 1; i < 5000; ++i) {
        const std::string member = "\"k" + std::to_string(i) + "\":" + std::to_string(i);
        ascending += "," + member;
        descending = member + "," + descending;
    }
    EXPECT_EQ(json(ascending + "}"), json("{" + descending));
}

TEST(Canonical, threads_and_repetition_change_nothing) {
    const auto expected = json(R"({"b":[1,{"c":"\u00e9"}],"a":2.50})");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                EXPECT_FALSE(refusal(json_request("{\"x\":[[[")));
                EXPECT_EQ(json(R"({"a":2.5,"b":[1.0,{"c":"é"}]})"), expected);
            }
        });
    }
    for (auto& thread : threads) thread.join();
}

// ---- properties over random documents

/// A random document, written twice: as it is meant, and with everything changed that says nothing.
class Scribe {
public:
    explicit Scribe(std::uint64_t seed) : random_(seed) {}

    std::pair<std::string, std::string> document(int depth = 0) {
        switch (random_() % (depth < 4 ? 7 : 5)) {
            case 0: return twice("null");
            case 1: return twice(random_() % 2 ? "true" : "false");
            case 2: {
                const auto n = std::to_string(random_() % 1000);
                return {n, n + (random_() % 2 ? ".0" : "e0")};
            }
            case 3: {
                const std::string text = random_text(random_, "ab\xc3", 4);
                std::string plain, escaped;
                for (const char c : text) {
                    plain += c == '\xc3' ? "\xc3\xa9" : std::string(1, c);
                    escaped += c == '\xc3' ? "\\u00e9" : c == 'a' ? "\\u0061" : std::string(1, c);
                }
                return {'"' + plain + '"', '"' + escaped + '"'};
            }
            case 4: return twice("-0.5");
            case 5: return list(depth);
            default: return object(depth);
        }
    }

private:
    static std::pair<std::string, std::string> twice(std::string text) { return {text, " " + text + "\n"}; }

    std::pair<std::string, std::string> list(int depth) {
        std::string one, other;
        for (std::size_t i = 0, n = random_() % 4; i < n; ++i) {
            const auto [a, b] = document(depth + 1);
            one += (i ? "," : "") + a;
            other += (i ? " ," : "") + b;
        }
        return {"[" + one + "]", "[ " + other + "]"};
    }

    std::pair<std::string, std::string> object(int depth) {
        std::vector<std::pair<std::string, std::string>> members;
        std::set<std::string> names;
        for (std::size_t i = 0, n = random_() % 5; i < n; ++i) {
            const auto name = random_text(random_, "xyz", 10);
            if (!names.insert(name).second) continue;
            const auto [a, b] = document(depth + 1);
            members.emplace_back('"' + name + "\":" + a, '"' + name + "\" : " + b);
        }
        const auto joined = [](const auto& list, auto side) {
            std::string text;
            for (const auto& member : list) text += (text.empty() ? "" : ",") + side(member);
            return "{" + text + "}";
        };
        const auto one = joined(members, [](const auto& m) { return m.first; });
        std::shuffle(members.begin(), members.end(), random_);
        return {one, joined(members, [](const auto& m) { return m.second; })};
    }

    std::mt19937_64 random_;
};

TEST(Canonical, property_what_says_nothing_changes_nothing_and_the_rest_does) {
    Scribe scribe(11);
    std::map<RequestHash, std::string> seen;
    for (int round = 0; round < 20000; ++round) {
        const auto [one, other] = scribe.document();
        const auto found = json(one);
        ASSERT_EQ(found, json(other)) << one << "\n" << other;
        // Documents of the first spelling are unique texts for unique meanings but for member order; compare through
        // the second hash only.
        const auto [place, fresh] = seen.emplace(found, one);
        if (!fresh && place->second != one) {
            std::string a = one, b = place->second;
            std::sort(a.begin(), a.end());
            std::sort(b.begin(), b.end());
            ASSERT_EQ(a, b) << "two meanings met: " << one << " and " << place->second;
        }
    }
}

}  // namespace
}  // namespace nebis::identify_test
