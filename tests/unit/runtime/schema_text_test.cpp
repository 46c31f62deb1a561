// SPDX-License-Identifier: Apache-2.0
#include "runtime/schema_text.hpp"

#include <gtest/gtest.h>

namespace nebis::runtime {
namespace {

TEST(SchemaText, statements_without_comments_and_blanks) {
    EXPECT_EQ(statements_in(
                  "-- a; b\nCREATE TABLE t (\n  x text,  -- it's; one\n  y text DEFAULT 'a; --b  c'\n);\n\nDROP x;"),
              (std::vector<std::string>{"CREATE TABLE t ( x text, y text DEFAULT 'a; --b  c' )", "DROP x"}));
    EXPECT_TRUE(statements_in("-- nothing").empty());
    EXPECT_TRUE(statements_in("unfinished").empty());
}

TEST(SchemaText, checksum_is_of_what_is_made) {
    const auto sum = schema_checksum("CREATE TABLE t (x);");
    EXPECT_GT(sum, 0);
    EXPECT_EQ(sum, schema_checksum("-- said otherwise\nCREATE   TABLE t\n(x);\nINSERT INTO m VALUES (1);"));
    EXPECT_NE(sum, schema_checksum("CREATE TABLE t (y);"));
}

}  // namespace
}  // namespace nebis::runtime
