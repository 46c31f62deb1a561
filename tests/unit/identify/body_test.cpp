// SPDX-License-Identifier: Apache-2.0
#include "identify/body.hpp"

#include "support.hpp"

#include <vector>

namespace nebis::identify_test {
namespace {

using namespace identify;
using testing::HasSubstr;

const HashLimits limits;

Result<void> parse(std::string_view text) { return JsonTape().parse_json(text, limits); }

TEST(JsonTape, lies_flat_in_document_order) {
    JsonTape tape;
    const std::string body = R"({"a":1,"b":[true,null,{"c":"x"}],"d":"y\n"})";
    ASSERT_TRUE(tape.parse_json(body, limits));
    ASSERT_EQ(tape.nodes().size(), 8u);
    EXPECT_EQ(tape[0].kind, JsonKind::object);
    EXPECT_EQ(tape[0].end, 8u);
    EXPECT_EQ(tape[1].text_view(), "1");
    EXPECT_EQ(tape[2].name_view(), "b");
    EXPECT_EQ(tape[2].end, 7u);
    EXPECT_EQ(tape[3].text_view(), "true");
    EXPECT_EQ(tape[4].kind, JsonKind::null);
    EXPECT_EQ(tape[6].name_view(), "c");
    EXPECT_EQ(tape[7].text_view(), "y\n");
}

TEST(JsonTape, unescapes_names_and_texts_of_any_length) {
    JsonTape tape;
    const std::string longer(20000, 'z');
    const std::string body =
        R"({"a\u0062\/":"\u00e9\ud83d\ude00)" + longer + R"(\t)" + longer + R"(", "plain":"\u0000"})";
    ASSERT_TRUE(tape.parse_json(body, limits));
    EXPECT_EQ(tape[1].name_view(), "ab/");
    EXPECT_EQ(tape[1].text_view(), "\xc3\xa9\xf0\x9f\x98\x80" + longer + "\t" + longer);
    EXPECT_EQ(tape[2].text_view(), std::string_view("\0", 1));
}

TEST(JsonTape, keeps_the_text_of_numbers) {
    JsonTape tape;
    ASSERT_TRUE(tape.parse_json("[9007199254740993,-0,1e400,18446744073709551616,0.10,1E+2, 12]", limits));
    std::vector<std::string_view> texts;
    for (const auto& node : tape.nodes().subspan(1)) texts.push_back(node.text_view());
    EXPECT_THAT(texts,
                testing::ElementsAre("9007199254740993", "-0", "1e400", "18446744073709551616", "0.10", "1E+2", "12"));
    ASSERT_TRUE(tape.parse_json("42", limits));
    EXPECT_EQ(tape[0].text_view(), "42");
}

TEST(JsonTape, B038_depth_is_bounded_without_touching_the_stack) {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_TRUE(parse(nested(64)));
    EXPECT_THAT(parse(nested(65)), Refuses("body-invalid"));
    EXPECT_THAT(parse(nested(100000)), Refuses("body-invalid"));
    EXPECT_THAT(error_of(parse(nested(65))).message(), HasSubstr("64"));
    std::string objects;
    for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
    EXPECT_THAT(parse(objects), Refuses("body-invalid"));
    HashLimits deep = limits;
    deep.max_depth = 2;
    EXPECT_TRUE(JsonTape().parse_json("[[1]]", deep));
    EXPECT_THAT(JsonTape().parse_json("[[[1]]]", deep), Refuses("body-invalid"));
    // An error in the depth leaves nothing behind for the next document.
    EXPECT_TRUE(parse(nested(64)));
}

TEST(JsonTape, B039_encoding) {
    for (const char* text :
         {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")",
          "\xef\xbb\xbf{}", "\"a\nb\"", "{\"\xff\":1}", "\"\xf4\x90\x80\x80\""}) {
        EXPECT_THAT(parse(text), Refuses("body-invalid")) << text;
    }
}

TEST(JsonTape, B040_C04_what_is_no_json) {
    for (const char* text :
         {"",      " ",   "{",      "[1,]",       "{} {}", "{}x",   "nul",     "NaN",
          "+1",    "01",  "1.",     ".5",         "'a'",   "{a:1}", "// c\n1", "1e999999999999999999999",
          "[1 2]", "\"a", "<xml/>", "{\"a\":1,}", "-",     "1e"}) {
        EXPECT_THAT(parse(text), Refuses("body-invalid")) << text;
    }
    EXPECT_TRUE(parse(" \r\n\t{ } \n"));
}

TEST(JsonTape, B048_size_is_bounded) {
    HashLimits small;
    small.max_bytes = 10;
    EXPECT_TRUE(JsonTape().parse_json("[1,2,3,45]", small));
    EXPECT_THAT(JsonTape().parse_json("[1,2,3,456]", small), Refuses("body-too-large"));
    EXPECT_THAT(JsonTape().parse_form("a=1&b=2&c=3", small), Refuses("body-too-large"));
}

TEST(JsonTape, finds_members_and_elements) {
    JsonTape tape;
    ASSERT_TRUE(tape.parse_json(R"({"a":[10,[20],30],"":{"k":1},"twice":1,"twice":2})", limits));
    const auto a = value_of(tape.child(0, "a"));
    EXPECT_EQ(tape[value_of(tape.child(a, "0"))].text_view(), "10");
    EXPECT_EQ(tape[value_of(tape.child(a, "2"))].text_view(), "30");
    for (const char* index : {"3", "-1", "00", "01", "x", "1x", "", "99999999999999999999", " 1"})
        EXPECT_EQ(value_of(tape.child(a, index)), 0u) << index;
    EXPECT_NE(value_of(tape.child(0, "")), 0u);
    EXPECT_EQ(value_of(tape.child(0, "absent")), 0u);
    EXPECT_EQ(value_of(tape.child(value_of(tape.child(a, "0")), "0")), 0u) << "a number has no children";
    EXPECT_THAT(tape.child(0, "twice"), Refuses("body-invalid"));
}

TEST(JsonTape, B053_reads_forms) {
    JsonTape tape;
    ASSERT_TRUE(tape.parse_form("a=1+2%20%2B&b=&c&&=x&%61%3d=%C3%a9", limits));
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& node : tape.nodes().subspan(1)) pairs.emplace_back(node.name_view(), node.text_view());
    EXPECT_THAT(pairs, testing::ElementsAre(testing::Pair("a", "1 2 +"), testing::Pair("b", ""), testing::Pair("c", ""),
                                            testing::Pair("", "x"), testing::Pair("a=", "\xc3\xa9")));
    for (const char* broken : {"a=%", "a=%1", "a=%zz", "%g0=1", "a=%0g"})
        EXPECT_THAT(tape.parse_form(broken, limits), Refuses("body-invalid")) << broken;
    ASSERT_TRUE(tape.parse_form("", limits));
    EXPECT_EQ(tape.nodes().size(), 1u);
}

TEST(JsonTape, leases_nest_and_large_tapes_are_not_kept) {
    {
        TapeLease outer;
        ASSERT_TRUE(outer->parse_json("[1]", limits));
        TapeLease inner;
        ASSERT_TRUE(inner->parse_json("[2]", limits));
        EXPECT_EQ((*outer)[1].text_view(), "1");
    }
    {
        TapeLease large;
        std::string body = "[0";
        for (int i = 0; i < 100000; ++i) body += ",0";
        ASSERT_TRUE(large->parse_json(body + "]", limits));
        EXPECT_GT(large->footprint(), 1'000'000u);
    }
    EXPECT_LT(TapeLease()->footprint(), 300'000u);
}

TEST(MediaType, is_compared_without_case_and_parameters) {
    EXPECT_EQ(media_type(" Application/JSON ; charset=utf-8"), "Application/JSON");
    for (const char* type :
         {"application/json", "Application/JSON", "text/json", "application/problem+json", "application/vnd.x+JSON"})
        EXPECT_TRUE(is_json(type)) << type;
    for (const char* type : {"", "application/jsonp", "+json", "application/xml", "json"})
        EXPECT_FALSE(is_json(type)) << type;
    EXPECT_TRUE(is_form("application/X-www-form-urlencoded"));
    EXPECT_EQ(media_parameter("text/plain; charset=\"UTF-8\"; x=1", "CHARSET"), "UTF-8");
    EXPECT_EQ(media_parameter("text/plain; Charset = latin1", "charset"), "latin1");
    EXPECT_EQ(media_parameter("text/plain; charset", "charset"), "");
    EXPECT_EQ(media_parameter("text/plain", "charset"), "");
    EXPECT_EQ(media_parameter("text/plain; charset=\"", "charset"), "\"");
}

TEST(BodyKind, follows_content_type_and_encoding) {
    const auto kind = [](Request request) { return Body(request, limits).kind(); };
    EXPECT_EQ(kind(json_request("{}")), BodyKind::json);
    EXPECT_EQ(kind(json_request("")), BodyKind::empty);
    EXPECT_EQ(kind(call("{}")), BodyKind::json);
    EXPECT_EQ(kind({.body = "{}"}), BodyKind::raw) << "nobody said that it is JSON";
    EXPECT_EQ(kind({.content_type = "application/x-www-form-urlencoded", .body = "a=1"}), BodyKind::form);
    Request packed = json_request("\x1f\x8b");
    packed.headers = {{"Content-Encoding", "gzip"}};
    EXPECT_EQ(kind(packed), BodyKind::raw);
    packed.headers = {{"content-encoding", " Identity "}};
    EXPECT_EQ(kind(packed), BodyKind::json);
    HashLimits raw;
    raw.raw_bodies = true;
    const Request request = json_request("{}");
    EXPECT_EQ(Body(request, raw).kind(), BodyKind::raw);
}

}  // namespace
}  // namespace nebis::identify_test
