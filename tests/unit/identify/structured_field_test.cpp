// SPDX-License-Identifier: Apache-2.0
#include "identify/structured_field.hpp"

#include "support.hpp"

namespace nebis::identify_test {
namespace {

using identify::parse_key_field;

std::string strict(std::string_view value) { return value_of(parse_key_field(value, true)); }
std::string lenient(std::string_view value) { return value_of(parse_key_field(value, false)); }
auto strictly(std::string_view value) { return parse_key_field(value, true); }
auto leniently(std::string_view value) { return parse_key_field(value, false); }

TEST(KeyField, B002_B003_empty_and_blank_are_refused) {
    for (const char* value : {"", " ", "\t", " \t ", "\"\"", "\" \"", "\"   \""}) {
        EXPECT_THAT(leniently(value), Refuses("key-invalid")) << value;
        EXPECT_THAT(strictly(value), Refuses("key-invalid")) << value;
    }
}

TEST(KeyField, B006_a_list_is_refused) {
    for (const char* value : {"a, b", "a,b", "\"a\", \"b\"", "\"a\",\"a\"", ","}) {
        EXPECT_THAT(leniently(value), Refuses("key-invalid")) << value;
        EXPECT_THAT(strictly(value), Refuses("key-invalid")) << value;
    }
    EXPECT_EQ(strict("\"a,b\""), "a,b") << "inside quotes a comma is a character";
}

TEST(KeyField, B007_B008_B009_length) {
    EXPECT_EQ(strict('"' + std::string(255, 'k') + '"').size(), 255u);
    EXPECT_EQ(lenient(std::string(255, 'k')).size(), 255u);
    const auto error = error_of(leniently(std::string(256, 'k')));
    EXPECT_THAT(error.message(), testing::HasSubstr("255")) << "the limit is named";
    EXPECT_THAT(strictly('"' + std::string(256, 'k') + '"'), Refuses("key-invalid"));
    EXPECT_EQ(lenient("k"), "k");
    EXPECT_THAT(parse_key_field("k", false, {.min = 2}), Refuses("key-invalid"));
    EXPECT_EQ(value_of(parse_key_field("kk", false, {.min = 2})), "kk");
    EXPECT_EQ(strict('"' + std::string(255, 'k').append("\"")).size(), 255u);
}

TEST(KeyField, C07_B010_quoted_and_bare_are_one_key) {
    EXPECT_EQ(lenient("\"k-1\""), lenient("k-1"));
    EXPECT_EQ(lenient("  \"k-1\"\t"), "k-1");
    EXPECT_EQ(lenient("  k-1 "), "k-1");
    EXPECT_EQ(strict("\"k-1\""), "k-1");
    EXPECT_THAT(strictly("k-1"), Refuses("key-invalid"));
    EXPECT_THAT(error_of(strictly("k-1")).hint(), testing::HasSubstr("double quotes"));
}

TEST(KeyField, B011_unbalanced_quotes) {
    for (const char* value : {"\"abc", "abc\"", "\"", "a\"b", "\"a\"b\"", "\"abc\\\""}) {
        EXPECT_THAT(leniently(value), Refuses("key-invalid")) << value;
        EXPECT_THAT(strictly(value), Refuses("key-invalid")) << value;
    }
}

TEST(KeyField, B012_escapes) {
    EXPECT_THAT(leniently("\"a\\b\""), Refuses("key-invalid"));
    EXPECT_THAT(strictly("\"a\\b\""), Refuses("key-invalid"));
    EXPECT_THAT(strictly("\"a\\"), Refuses("key-invalid"));
    EXPECT_EQ(strict("\"a\\\"b\\\\c\""), "a\"b\\c");
}

TEST(KeyField, B013_parameters) {
    for (const char* value :
         {"\"a\";v=1", "\"a\"; v=1;w", "\"a\";v=\"x;y\"", "\"a\";*k=tok", "\"a\";a-b_c.d*=?1", "\"a\";v=:YQ==:"}) {
        EXPECT_EQ(lenient(value), "a") << value;
        EXPECT_THAT(strictly(value), Refuses("key-invalid")) << value;
    }
    for (const char* value : {"\"a\"x", "\"a\" ;v=1", "\"a\";", "\"a\";V=1", "\"a\";1=2", "\"a\";v=", "\"a\";v=\"x",
                              "\"a\";v=1 x", "\"a\";v=\"x\"y", "\"a\" b", "\"a\";v=;w"}) {
        EXPECT_THAT(leniently(value), Refuses("key-invalid")) << value;
        EXPECT_THAT(strictly(value), Refuses("key-invalid")) << value;
    }
}

TEST(KeyField, B014_other_items_are_literal_text_unless_strict) {
    for (const char* value : {"1", "?1", ":YQ==:", "1.5", "token", "*a", "@1659578233"}) {
        EXPECT_EQ(lenient(value), value);
        EXPECT_THAT(strictly(value), Refuses("key-invalid")) << value;
    }
}

TEST(KeyField, B015_B016_only_printable_ascii) {
    for (const std::string& value :
         {std::string("caf\xc3\xa9"), std::string("\"\xc3\xa9\""), std::string("a\0b", 3), std::string("a\rb"),
          std::string("a\nb"), std::string("a\x1b[0m"), std::string("a\x7f"), std::string("\"a\tb\""),
          std::string("a\tb"), std::string("\xff")}) {
        EXPECT_THAT(leniently(value), Refuses("key-invalid"));
        EXPECT_THAT(strictly(value), Refuses("key-invalid"));
    }
}

TEST(KeyField, B017_B018_case_and_blanks_inside_quotes_count) {
    EXPECT_NE(lenient("abcDEF"), lenient("ABCdef"));
    EXPECT_EQ(strict("\"key \""), "key ");
    EXPECT_NE(strict("\"key \""), strict("\"key\""));
}

TEST(KeyField, B021_B022_hostile_text_is_plain_data) {
    for (const char* value : {"{a}*?[b]\\:c", "' OR 1=1 --", "%_\\", "a|b", "sha256:abc", "../../etc", "$(id)"})
        EXPECT_EQ(lenient(value), value);
}

TEST(KeyField, C56_errors_never_quote_the_value) {
    for (const char* value : {"\"s3cret", "s3cret,x", "\"s3cret\"x", "s3cret\"", "s3cr\x01t"}) {
        EXPECT_THAT(error_of(leniently(value)).text(), testing::Not(testing::HasSubstr("s3cr"))) << value;
    }
}

}  // namespace
}  // namespace nebis::identify_test
