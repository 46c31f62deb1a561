// SPDX-License-Identifier: Apache-2.0
#include "identify/key_parts.hpp"

#include "support.hpp"

#include <map>

namespace nebis::identify_test {
namespace {

using identify::join_key;
using identify::KeyPart;

KeyPart taken(std::string text) { return {std::move(text), false}; }
KeyPart fixed(std::string text) { return {std::move(text), true}; }

TEST(KeyParts, the_usual_key_stays_readable) {
    EXPECT_EQ(value_of(join_key({taken("7"), fixed(":"), taken("3")})), "7:3");
    EXPECT_EQ(value_of(join_key({taken("7")})), "7");
    EXPECT_EQ(value_of(join_key({fixed("order-"), taken("a-b")})), "order-a-b")
        << "text around the only taken piece can't shift it";
    EXPECT_EQ(value_of(join_key({fixed("<"), taken("<a>"), fixed(">")})), "<<a>>");
}

TEST(KeyParts, Z21_pieces_never_shift) {
    const auto key = [](std::string a, std::string b) {
        return value_of(join_key({taken(std::move(a)), fixed(":"), taken(std::move(b))}));
    };
    EXPECT_NE(key("1:2", "3"), key("1", "2:3"));
    EXPECT_EQ(key("1:2", "3"), "~3:1:21=:1:3");
    EXPECT_EQ(value_of(join_key({taken("1"), taken("23")})), "~1:12:23");
    EXPECT_NE(value_of(join_key({taken("1"), taken("23")})), value_of(join_key({taken("12"), taken("3")})));
    EXPECT_NE(value_of(join_key({taken("~3:1:21=:1:3")})), key("1:2", "3"))
        << "a natural key in the framed form is framed itself";
    EXPECT_NE(value_of(join_key({taken("a"), fixed(""), taken("b")})), "ab");
}

TEST(KeyParts, B024_C01_nothing_and_blank_are_errors) {
    EXPECT_THAT(join_key({}), Refuses("key-missing"));
    EXPECT_THAT(join_key({fixed("constant")}), Refuses("key-missing"));
    EXPECT_THAT(join_key({taken("")}), Refuses("key-missing"));
    EXPECT_THAT(join_key({taken(" \t")}), Refuses("key-missing"));
    EXPECT_THAT(join_key({taken("7"), fixed(":"), taken("")}), Refuses("key-missing")) << "half a key merges strangers";
}

TEST(KeyParts, length_is_bounded) {
    EXPECT_TRUE(join_key({taken(std::string(4096, 'k'))}));
    EXPECT_THAT(join_key({taken(std::string(4097, 'k'))}), Refuses("key-invalid"));
    EXPECT_THAT(join_key({taken(std::string(4000, 'k')), fixed(std::string(97, '-'))}), Refuses("key-invalid"));
}

TEST(KeyParts, Z21_property_no_two_lists_of_one_rule_meet) {
    std::mt19937_64 random(21);
    for (const std::vector<std::string>& between :
         std::vector<std::vector<std::string>>{{":"}, {""}, {"::"}, {":", "-"}, {"~", ""}, {"ab"}, {":", ":"}}) {
        for (const std::string& around : {std::string(), std::string("a"), std::string("~")}) {
            std::map<std::string, std::vector<std::string>> seen;
            for (int round = 0; round < 4000; ++round) {
                std::vector<KeyPart> parts;
                std::vector<std::string> values;
                if (!around.empty()) parts.push_back(fixed(around));
                for (std::size_t i = 0; i <= between.size(); ++i) {
                    if (i > 0) parts.push_back(fixed(between[i - 1]));
                    values.push_back(random_text(random, "a:-b~1=", 3) + "a:b1~"[random() % 5]);
                    parts.push_back(taken(values.back()));
                }
                if (!around.empty()) parts.push_back(fixed(around));
                const auto key = value_of(join_key(parts));
                const auto [place, fresh] = seen.emplace(key, values);
                ASSERT_TRUE(fresh || place->second == values) << key;
            }
        }
    }
}

TEST(KeyParts, Z21_property_rules_with_branches_dont_meet_either) {
    // Two shapes of one rule, as a conditional has them: a, and b + ':' + c. `further` holds the fixed text of both.
    std::mt19937_64 random(22);
    std::map<std::string, std::vector<std::string>> seen;
    for (int round = 0; round < 30000; ++round) {
        const auto piece = [&] { return random_text(random, "1:~", 2) + "2"; };
        std::vector<std::string> values = random() % 2 ? std::vector{piece()} : std::vector{piece(), piece()};
        std::vector<KeyPart> parts = {taken(values[0])};
        if (values.size() > 1) parts.push_back(fixed(":")), parts.push_back(taken(values[1]));
        const auto key = value_of(join_key(parts, ":"));
        const auto [place, fresh] = seen.emplace(key, values);
        ASSERT_TRUE(fresh || place->second == values) << key;
    }
}

}  // namespace
}  // namespace nebis::identify_test
