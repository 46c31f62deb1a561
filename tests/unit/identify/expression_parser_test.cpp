// SPDX-License-Identifier: Apache-2.0
#include "identify/expression.hpp"
#include "identify/key_expression.hpp"
#include "support.hpp"

namespace nebis::identify_test {
namespace {

using namespace identify;
using testing::ElementsAre;
using testing::HasSubstr;

ParseError parse_error(std::string_view text) {
    ParseError error{.offset = 9999, .message = {}, .hint = {}};
    EXPECT_FALSE(KeyExpression::parse(text, error)) << text;
    return error;
}

KeyExpression parsed(std::string_view text) {
    ParseError error;
    auto expression = KeyExpression::parse(text, error);
    EXPECT_TRUE(expression) << text << ": " << error.message << " at " << error.offset;
    return expression ? *expression : *KeyExpression::parse("#x", error);
}

TEST(ExpressionParser, S3_says_where_and_why) {
    struct Wrong {
        const char* text;
        std::size_t offset;
        const char* message;
    };
    for (const auto& [text, offset, message] : std::initializer_list<Wrong>{
             {"", 0, "empty"},
             {"   ", 0, "empty"},
             {"#a +", 4, "too early"},
             {"#a + + #b", 5, "\"+\""},
             {"#", 0, "no name follows"},
             {"#1", 0, "no name follows"},
             {"#a.", 3, "no name follows"},
             {"#a.'x'", 3, "no name follows"},
             {"#a[", 3, "neither a number nor a text"},
             {"#a[x]", 3, "neither a number nor a text"},
             {"#a[1.5]", 3, "plain number"},
             {"#a[0", 4, "without its ]"},
             {"#a['x'", 6, "without its ]"},
             {"#a[99999999]", 3, "plain number"},
             {"(#a", 3, "without its )"},
             {"#a)", 2, "follows the end"},
             {"#a #b", 3, "follows the end"},
             {"#a ? 1", 6, "without its :"},
             {"#a ? 1 : ", 9, "too early"},
             {"'abc", 0, "without an end"},
             {"#a + \"abc'", 5, "without an end"},
             {"#a = 1", 3, "single ="},
             {"#a * 2", 3, "no arithmetic"},
             {"#a / 2", 3, "no arithmetic"},
             {"#a % 2", 3, "no arithmetic"},
             {"#a - 2", 3, "no arithmetic"},
             {"-#a", 0, "no number follows"},
             {"#a; #b", 2, "no key expression has"},
             {"#a & #b", 3, "no key expression has"},
             {"orderId", 0, "no value"},
             {"#a + orderId", 5, "no value"},
             {"#a == 1 == 2", 8, "two comparisons"},
             {"007 + #a", 0, "begins with 0"},
             {"7x + #a", 0, "letters behind"},
             {"frob(#a)", 0, "no function frob"},
             {"#frob(#a)", 0, "no function frob"},
             {"#a.frob()", 3, "no method frob"},
             {"lower(#a, #b)", 0, "number of arguments"},
             {"lower()", 0, "number of arguments"},
             {"lower(#a", 8, "without a comma"},
             {"lower(#a #b)", 9, "without a comma"},
             {"lower(#a,)", 9, "\")\""},
             {"#a.substring(3, 1)", 3, "ends before"},
             {"#a.substring(#b)", 13, "plain number"},
             {"#a.substring('1')", 13, "plain number"},
             {"#a.substring(-1)", 13, "plain number"},
             {"#a.getName(1)", 11, "getter with arguments"},
             {"format(#a)", 7, "isn't a text"},
             {"format('%s')", 7, "fewer arguments"},
             {"format('x', #a)", 7, "more arguments"},
             {"format('%x', #a)", 7, "%s, %d"},
             {"format('%', #a)", 7, "%s, %d"},
             {"T(java.lang.Math).random()", 0, "types are not"},
             {"#root.x", 0, "no meaning"},
             {"#this", 0, "no meaning"},
             {"'constant'", 0, "names nothing"},
             {"1 + 2", 0, "names nothing"},
             {"null ?: 'x'", 0, "names nothing"},
         }) {
        const auto error = parse_error(text);
        EXPECT_EQ(error.offset, offset) << text << ": " << error.message;
        EXPECT_THAT(error.message, HasSubstr(message)) << text;
    }
}

TEST(ExpressionParser, is_bounded) {
    std::string deep(2000, '(');
    EXPECT_THAT(parse_error(deep).message, HasSubstr("deeply"));
    std::string bangs(2000, '!');
    EXPECT_THAT(parse_error(bangs + "#a").message, HasSubstr("deeply"));
    std::string chain = "#a";
    for (int i = 0; i < 400; ++i) chain += "+#a";
    EXPECT_THAT(parse_error(chain).message, HasSubstr("too many parts"));
    EXPECT_THAT(parse_error("#a + '" + std::string(3000, 'x') + "'").message, HasSubstr("2048"));
    std::string accepted = "#a";
    for (int i = 0; i < 60; ++i) accepted += " + #a";
    parsed(accepted);
    parsed(std::string(30, '(') + "#a" + std::string(30, ')'));
}

TEST(ExpressionParser, gives_hints) {
    EXPECT_THAT(parse_error("orderId").hint, HasSubstr("#"));
    EXPECT_THAT(parse_error("#a = 1").hint, HasSubstr("=="));
    EXPECT_THAT(parse_error("frob(#a)").hint, HasSubstr("sha256"));
    EXPECT_THAT(parse_error("#a.frob()").hint, HasSubstr("substring"));
    EXPECT_THAT(parse_error("'x'").hint, HasSubstr("#request"));
}

TEST(ExpressionParser, lists_roots_and_members) {
    const auto expression =
        parsed("#request.order?.id + ':' + (#user['name'] ?: #request.order.alias) + lower(#other[0].getNoun())");
    EXPECT_THAT(expression.roots(), ElementsAre("request", "user", "other"));
    EXPECT_THAT(expression.members(), ElementsAre("order", "id", "name", "alias", "noun"));
    EXPECT_EQ(expression.text().substr(0, 8), "#request");
}

TEST(ExpressionParser, keeps_the_place_of_each_part) {
    ParseError error;
    const auto tree = parse_expression("#a.b + lower( #c )", error);
    ASSERT_TRUE(tree);
    ASSERT_EQ(tree->children.size(), 2u);
    EXPECT_EQ(tree->children[0].begin, 0u);
    EXPECT_EQ(tree->children[0].end, 4u);
    EXPECT_EQ(tree->children[1].begin, 7u);
    EXPECT_EQ(tree->children[1].end, 18u);
}

}  // namespace
}  // namespace nebis::identify_test
