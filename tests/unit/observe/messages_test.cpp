// SPDX-License-Identifier: Apache-2.0
// S63: one catalogue of messages.
#include "observe/messages.hpp"

#include "observe/utf8.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace nebis::observe {
namespace {

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto length = utf8_sequence(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

TEST(Messages, S63_every_message_has_an_id_and_both_languages) {
    std::set<std::string_view> ids;
    for (const auto& row : message_table()) {
        EXPECT_TRUE(ids.insert(row.id).second) << row.id;
        EXPECT_TRUE(std::ranges::all_of(row.id, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; })) << row.id;
        EXPECT_TRUE(row.en.ends_with('.')) << row.id;
        EXPECT_TRUE(row.zh.ends_with("。")) << row.id;
        EXPECT_TRUE(is_utf8(row.zh)) << row.id;
        EXPECT_EQ(id(row.message), row.id);
        EXPECT_EQ(message_of(row.id), row.message);
    }
    EXPECT_EQ(message_of("no-such-message"), std::nullopt);
}

TEST(Messages, S63_language_and_overrides) {
    EXPECT_EQ(Messages().text(Message::duplicate), "This request was already submitted.");
    const Messages zh(Language::zh, {{"in-progress", "操作过于频繁"}, {"unheard-of", "x"}});
    EXPECT_EQ(zh.text(Message::in_progress), "操作过于频繁");
    EXPECT_EQ(zh.text(Message::duplicate), "该请求已经提交过，请勿再次提交。");
    EXPECT_EQ(zh.text("in-progress", "?"), "操作过于频繁");
    EXPECT_EQ(zh.text("unheard-of", "otherwise"), "otherwise");
}

TEST(Messages, the_ids_of_errors_are_in_it) {
    for (const auto* code : {"key-missing", "key-invalid", "body-invalid", "body-too-large", "caller-missing",
                             "token-unknown", "token-forged", "token-foreign", "token-expired", "done-not-stored",
                             "in-progress", "outcome-unknown", "mismatch", "duplicate", "fenced-off", "unavailable"}) {
        EXPECT_TRUE(message_of(code)) << code;
    }
}

TEST(Utf8, sequences) {
    EXPECT_EQ(utf8_sequence("a"), 1u);
    EXPECT_EQ(utf8_sequence("é"), 2u);
    EXPECT_EQ(utf8_sequence("幂"), 3u);
    EXPECT_EQ(utf8_sequence("😀"), 4u);
    for (const auto* bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe5\xb9", "\xff"}) {
        EXPECT_EQ(utf8_sequence(bad), 0u) << bad;
    }
    EXPECT_EQ(utf8_sequence(""), 0u);
}

}  // namespace
}  // namespace nebis::observe
