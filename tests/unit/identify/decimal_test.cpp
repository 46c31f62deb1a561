// SPDX-License-Identifier: Apache-2.0
#include "identify/decimal.hpp"

#include "support.hpp"

#include <algorithm>
#include <vector>

namespace nebis::identify_test {
namespace {

using identify::append_decimal;
using identify::compare_decimals;

std::string canonical(std::string_view number) {
    std::string text = "<";
    EXPECT_TRUE(append_decimal(text, number)) << number;
    return text.substr(1);
}

bool refused(std::string_view number) {
    std::string text = "kept";
    const bool refused = !append_decimal(text, number);
    EXPECT_TRUE(!refused || text == "kept") << "a refused number must leave the text alone";
    return refused;
}

TEST(Decimal, C04_B034_equal_numbers_have_one_text) {
    for (const char* spelling : {"10", "10.0", "1e1", "10.00", "1E1", "1e+1", "0.1e2", "100e-1", "1.0e01", "0.001e4"}) {
        EXPECT_EQ(canonical(spelling), "10") << spelling;
    }
    for (const char* spelling : {"1", "1.0", "1e0", "10e-1", "0.1e1", "1E-0"})
        EXPECT_EQ(canonical(spelling), "1") << spelling;
    EXPECT_EQ(canonical("1.50"), "1.5");
    EXPECT_EQ(canonical("199.90"), "199.9");
    EXPECT_EQ(canonical("-0.50"), "-0.5");
    EXPECT_EQ(canonical("-120"), "-120");
    EXPECT_EQ(canonical("0.05"), "0.05");
    EXPECT_EQ(canonical("100.001"), "100.001");
}

TEST(Decimal, C04_B036_zero_has_no_sign_and_no_size) {
    for (const char* zero : {"0", "-0", "0.0", "-0.000", "0e5", "-0e-7", "0.00e999"})
        EXPECT_EQ(canonical(zero), "0") << zero;
}

TEST(Decimal, B035_neighbours_beyond_double_stay_apart) {
    EXPECT_EQ(canonical("9007199254740993"), "9007199254740993");
    EXPECT_NE(canonical("9007199254740993"), canonical("9007199254740992"));
    EXPECT_NE(canonical("0.1"), canonical("0.10000000000000001"));
    EXPECT_NE(canonical("123456789012345678901234567890"), canonical("123456789012345678901234567891"));
}

TEST(Decimal, far_points_are_written_with_an_exponent) {
    EXPECT_EQ(canonical("100000000000000000000"), "100000000000000000000");
    EXPECT_EQ(canonical("1e20"), "100000000000000000000");
    EXPECT_EQ(canonical("1e21"), "1e21");
    EXPECT_EQ(canonical("1000000000000000000000"), "1e21");
    EXPECT_EQ(canonical("123e400"), "1.23e402");
    EXPECT_EQ(canonical("0.000001"), "0.000001");
    EXPECT_EQ(canonical("0.0000001"), "1e-7");
    EXPECT_EQ(canonical("-12e-9"), "-1.2e-8");
}

TEST(Decimal, B036_is_bounded_by_text) {
    EXPECT_EQ(canonical("1e400"), "1e400");
    EXPECT_EQ(canonical("1e1000"), "1e1000");
    EXPECT_TRUE(refused("1e1001"));
    EXPECT_TRUE(refused("1e-1001"));
    EXPECT_TRUE(refused("1e99999999999999999999"));
    EXPECT_EQ(canonical("1e000000000000000000000000000000000001"), "10");

    const std::string digits400 = "1" + std::string(398, '0') + "7";
    EXPECT_EQ(canonical(digits400).size(), 400 + std::string(".e399").size());
    EXPECT_NE(canonical(digits400), canonical("1" + std::string(398, '0') + "8"));
    EXPECT_FALSE(refused(std::string(1000, '9')));
    EXPECT_TRUE(refused(std::string(1001, '9')));
    EXPECT_TRUE(refused("0." + std::string(1000, '9')));
}

TEST(Decimal, C04_what_is_no_json_number_is_refused) {
    for (const char* text : {"",    "-",   "+1",       "01",   "-01", ".5", "1.",  "1.e5", "1e",   "1e+", "1e-",
                             "1ex", "NaN", "Infinity", "0x10", "1 ",  " 1", "1,5", "--1",  "1e5x", "1f"}) {
        EXPECT_TRUE(refused(text)) << text;
    }
}

TEST(Decimal, order_is_that_of_the_numbers) {
    const std::vector<std::string> ascending = {
        "-1e400", "-120",  "-12.5", "-12", "-0.5", "-1e-9", "0",   "1e-400",           "0.05",
        "0.5",    "1",     "1.5",   "9",   "10",   "12",    "120", "9007199254740992", "9007199254740993",
        "1e22",   "1.5e22"};
    for (std::size_t i = 0; i < ascending.size(); ++i) {
        for (std::size_t j = 0; j < ascending.size(); ++j) {
            EXPECT_EQ(compare_decimals(ascending[i], ascending[j]), i <=> j) << ascending[i] << " " << ascending[j];
        }
    }
}

// Property: canonical text is a fixed point, and moving the point against the exponent never changes it.
TEST(Decimal, property_spellings_of_one_number_meet) {
    std::mt19937_64 random(20240601);
    for (int round = 0; round < 20000; ++round) {
        std::string digits = random_text(random, "0123456789", 24) + std::to_string(1 + random() % 9);
        digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
        const int exponent = static_cast<int>(random() % 60) - 30;
        const std::string text = canonical(digits + "e" + std::to_string(exponent));
        EXPECT_EQ(canonical(text), text);
        EXPECT_EQ(canonical(digits + "000e" + std::to_string(exponent - 3)), text);
        EXPECT_EQ(canonical("0." + digits + "E" + std::to_string(exponent + static_cast<int>(digits.size()))), text);
        EXPECT_EQ(canonical(digits.substr(0, 1) + "." + digits.substr(1) + "0e" +
                            std::to_string(exponent + static_cast<int>(digits.size()) - 1)),
                  text);
        EXPECT_EQ(compare_decimals(canonical("-" + text), text), std::strong_ordering::less);
        ASSERT_FALSE(HasFailure()) << digits << "e" << exponent;
    }
}

}  // namespace
}  // namespace nebis::identify_test
