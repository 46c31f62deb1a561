// SPDX-License-Identifier: Apache-2.0
// B103: files that are no configuration, or a malicious one.
#include "config/yaml.hpp"
#include "loading.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace nebis::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "nebis-config-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
        std::filesystem::permissions(path_, std::filesystem::perms::all);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string file(const std::string& name, const std::string& text, unsigned mode = 0600) const {
        const auto path = (path_ / name).string();
        std::ofstream(path, std::ios::binary) << text;
        ::chmod(path.c_str(), mode);
        return path;
    }
    std::string path(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

std::string refusal_of_text(const std::string& text) { return refusal_of(load_text(text, "nebis.yaml")); }

TEST(BadFile, B103_duplicate_key_is_refused_with_both_places) {
    EXPECT_THAT(
        refusal("lock-expire-millis: 5000\nmode: execute\nlock-expire-millis: 6000"),
        AllOf(StartsWith("nebis.yaml:5:5:"), HasSubstr("'lock-expire-millis' stands here twice"), HasSubstr("line 3")));
}

TEST(BadFile, B103_duplicate_section_is_refused) {
    EXPECT_THAT(refusal("operations: {pay: {mode: atomic}}\noperations: {refund: {mode: atomic}}"),
                HasSubstr("'operations' stands here twice"));
    EXPECT_THAT(refusal_of_text("nebis: {}\nnebis: {}\n"),
                HasSubstr("nebis.yaml:2:1: the key 'nebis' stands here twice"));
}

TEST(BadFile, B103_tab_in_the_indentation_is_refused) {
    EXPECT_THAT(refusal_of_text("nebis:\n\tidempotent:\n"),
                AllOf(StartsWith("nebis.yaml:2:1: a tab in the indentation"), HasSubstr("spaces")));
    EXPECT_THAT(refusal_of_text("nebis:\n  \tidempotent:\n"), StartsWith("nebis.yaml:2:3: a tab"));
}

TEST(BadFile, B103_tab_elsewhere_does_no_harm) {
    EXPECT_TRUE(load_text("nebis:\n\t\n  idempotent:\n    mode: atomic\t# a comment\n\t# another\n", "nebis.yaml"));
}

TEST(BadFile, B103_byte_order_mark_does_no_harm) {
    const auto settings = load_text("\xef\xbb\xbf" + under_root("lock-expire-millis: 5000"), "nebis.yaml");
    ASSERT_TRUE(settings) << settings.error().text();
    EXPECT_EQ(settings->defaults.lease.count(), 5000);
    EXPECT_EQ(settings->where.at("lock-expire-millis").line, 3u);
}

TEST(BadFile, B103_utf16_is_refused) {
    EXPECT_THAT(refusal_of_text(std::string("\xff\xfen\0e\0", 6)),
                AllOf(StartsWith("nebis.yaml:1:1: this is UTF-16"), HasSubstr("UTF-8")));
}

TEST(BadFile, B103_crlf_does_no_harm) {
    const auto settings =
        load_text("nebis:\r\n  idempotent:\r\n    lock-expire-millis: 5000\r\n    mode: atomic\r\n", "nebis.yaml");
    ASSERT_TRUE(settings) << settings.error().text();
    EXPECT_EQ(settings->defaults.lease.count(), 5000);
    EXPECT_EQ(settings->defaults.mode, Mode::atomic);
    EXPECT_EQ(settings->where.at("mode").line, 4u);
}

TEST(BadFile, B103_not_utf8_is_refused_where_it_stands) {
    EXPECT_THAT(refusal_of_text("nebis:\n  idempotent:\n    instance: caf\xe9\n"),
                StartsWith("nebis.yaml:3:18: this is not UTF-8"));
    EXPECT_THAT(refusal_of_text("nebis: \xc0\xaf"), HasSubstr("not UTF-8"));      // overlong
    EXPECT_THAT(refusal_of_text("nebis: \xed\xa0\x80"), HasSubstr("not UTF-8"));  // surrogate
}

TEST(BadFile, B103_control_characters_are_refused) {
    EXPECT_THAT(refusal_of_text(std::string("nebis:\n  a\0b: 1\n", 14)),
                StartsWith("nebis.yaml:2:4: a control character"));
    EXPECT_THAT(refusal("instance: \"a\\u001bb\""), HasSubstr("holds control characters"));
}

TEST(BadFile, B103_anchor_alias_and_merge_are_refused) {
    EXPECT_THAT(refusal("operations:\n  pay: &pay\n    mode: atomic"),
                AllOf(StartsWith("nebis.yaml:4:12:"), HasSubstr("anchor")));
    EXPECT_THAT(refusal("operations:\n  pay: {mode: atomic}\n  refund:\n    <<: {mode: mark}"),
                AllOf(StartsWith("nebis.yaml:6:9:"), HasSubstr("merge key")));
}

TEST(BadFile, B103_anchor_bomb_is_refused_at_once) {
    std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
    for (char c = 'b'; c < 'z'; ++c) {
        bomb += std::string(1, c) + ": &" + c + " [";
        for (int i = 0; i < 9; ++i) bomb += std::string(i ? ", *" : "*") + static_cast<char>(c - 1);
        bomb += "]\n";
    }
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(refusal(bomb), HasSubstr("an anchor (&name) is not taken here"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(BadFile, B103_tags_are_refused) {
    EXPECT_THAT(refusal("lock-expire-millis: !!int 5000"), AllOf(StartsWith("nebis.yaml:3:"), HasSubstr("a tag")));
    EXPECT_THAT(refusal("operations: !!python/object:os.system {}"), HasSubstr("a tag"));
}

TEST(BadFile, B103_second_document_is_refused) {
    EXPECT_THAT(refusal_of_text("nebis: {}\n---\nnebis: {}\n"),
                AllOf(HasSubstr("nebis.yaml:2:1: a second document"), HasSubstr("'---'")));
    EXPECT_TRUE(load_text("---\nnebis: {}\n", "nebis.yaml"));
}

TEST(BadFile, B103_deep_nesting_is_refused) {
    EXPECT_THAT(refusal_of_text("nebis: " + std::string(100'000, '[')), HasSubstr("nesting deeper than 16"));
    EXPECT_THAT(refusal_of_text("nebis: " + std::string(100'000, '{')), HasSubstr("nesting deeper than 16"));
    std::string stairs;
    for (std::size_t i = 0; i < 30; ++i) stairs += std::string(i, ' ') + "a:\n";
    EXPECT_THAT(refusal_of_text(stairs), HasSubstr("nesting deeper than 16"));
}

TEST(BadFile, B103_hundred_mebibytes_are_refused_before_reading) {
    const Folder folder;
    const auto path = folder.file("big.yaml", "nebis: {}\n");
    std::filesystem::resize_file(path, 100u << 20);  // sparse
    EXPECT_THAT(refusal_of(load(path)), HasSubstr("larger than 1048576 bytes"));
    EXPECT_THAT(refusal_of_text("#" + std::string(largest_file, 'x')), HasSubstr("larger than 1 MiB"));
}

TEST(BadFile, B103_missing_file_is_named) {
    EXPECT_THAT(refusal_of(load("/nonexistent/nebis.yaml")),
                AllOf(StartsWith("/nonexistent/nebis.yaml: there is no such file"), HasSubstr("all defaults")));
}

TEST(BadFile, B103_directory_is_refused) {
    const Folder folder;
    EXPECT_THAT(refusal_of(load(folder.path(""))), HasSubstr("this is a directory"));
}

TEST(BadFile, B103_named_pipe_is_refused_and_not_waited_for) {
    const Folder folder;
    const auto path = folder.path("pipe");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(refusal_of(load(path)), HasSubstr("not a regular file"));
}

TEST(BadFile, B103_no_permission_is_said) {
    const Folder folder;
    const auto path = folder.file("nebis.yaml", "nebis: {}\n", 0000);
    // Root may read everything, so be nobody for a moment.
    const bool root = ::geteuid() == 0;
    ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
    const auto settings = load(path);
    ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
    EXPECT_THAT(refusal_of(settings), AllOf(StartsWith(path), HasSubstr("no permission")));
}

TEST(BadFile, B103_empty_file_means_all_defaults) {
    const Folder folder;
    for (const std::string text :
         {"", "\n\n", "# nothing\n", "---\n", "nebis:\n", "nebis:\n  idempotent:\n", "nebis: {idempotent: {}}"}) {
        const auto settings = load(folder.file("nebis.yaml", text));
        ASSERT_TRUE(settings) << text << settings.error().text();
        EXPECT_EQ(settings->data_sources.at("primary").driver, "sqlite");
        EXPECT_EQ(settings->data_sources.at("primary").values.at("path"), "nebis.db");
        EXPECT_TRUE(settings->data_sources.at("primary").create_schema);
        EXPECT_EQ(settings->defaults.lease.count(), 10'000);
        EXPECT_TRUE(settings->where.empty());
    }
}

TEST(BadFile, B103_there_are_no_includes_so_none_can_loop) {
    EXPECT_THAT(refusal("include: nebis.yaml"), HasSubstr("unknown key 'include'"));
    EXPECT_THAT(refusal("operations: !include operations.yaml"), HasSubstr("a tag"));
}

TEST(BadFile, B103_root_must_be_ours) {
    EXPECT_THAT(refusal_of_text("forgeadmin:\n  idempotent:\n    enabled: true\n"),
                AllOf(StartsWith("nebis.yaml:1:1:"), HasSubstr("write nebis:")));
    EXPECT_THAT(refusal_of_text("lock-expire-millis: 5000\n"), HasSubstr("it belongs under nebis: and idempotent:"));
    EXPECT_THAT(refusal_of_text("nebis:\n  idempotant: {}\n"),
                AllOf(StartsWith("nebis.yaml:2:3:"), HasSubstr("'idempotent'")));
    EXPECT_THAT(refusal_of_text("- nebis\n"), HasSubstr("is a map of keys"));
    EXPECT_THAT(refusal_of_text("nebis: 7\n"), HasSubstr("'nebis' must be a map"));
    EXPECT_THAT(refusal_of_text("nebis: {idempotent: true}\n"), HasSubstr("'idempotent' must be a map of keys"));
}

TEST(BadFile, B103_syntax_errors_have_place_and_hint) {
    // The article's own example needs quotes.
    EXPECT_THAT(refusal("key-prefix: prod: # production"),
                AllOf(StartsWith("nebis.yaml:3:"), HasSubstr("needs quotes")));
    EXPECT_THAT(refusal("retryable-exceptions: [a, b"), StartsWith("nebis.yaml:"));
    EXPECT_THAT(refusal("instance: \"open"), StartsWith("nebis.yaml:"));
    EXPECT_THAT(refusal("instance: @host"), StartsWith("nebis.yaml:3:"));
}

TEST(BadFile, B103_keys_must_be_words) {
    EXPECT_THAT(refusal("? [a, b]\n: 1"), HasSubstr("a key must be one plain word"));
    EXPECT_THAT(refusal("~: 1"), HasSubstr("a key must be one plain word"));
}

TEST(BadFile, all_faults_are_told_at_once_in_order_and_at_most_twenty) {
    const auto text = refusal("lock-expire-millis: ten\nmode: atomik\nfail-open: maybe");
    EXPECT_THAT(text, StartsWith("3 faults in the configuration\nnebis.yaml:3:"));
    EXPECT_LT(text.find("nebis.yaml:3:"), text.find("nebis.yaml:4:"));
    EXPECT_LT(text.find("nebis.yaml:4:"), text.find("nebis.yaml:5:"));
    std::string many;
    for (int i = 0; i < 50; ++i) many += "unknown" + std::to_string(i) + ": 1\n";
    EXPECT_THAT(refusal(many), AllOf(StartsWith("50 faults"), HasSubstr("… and 30 more")));
}

TEST(BadFile, B103_random_bytes_never_crash_and_are_never_taken_for_keys) {
    std::uint64_t seed = 88172645463325252ull;
    const std::string alphabet = "nebis:idempotent \n\t-[]{}&*!|>'\"%@`#,?~0aA\xc3\xa9\xff";
    for (int round = 0; round < 3000; ++round) {
        std::string text = round % 2 ? "nebis:\n  idempotent:\n    " : "";
        for (int i = 0; i < 60; ++i) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            text += alphabet[seed % alphabet.size()];
        }
        const auto settings = load_text(text, "random.yaml");
        EXPECT_TRUE(settings || settings.error().kind() == ErrorKind::misconfigured);
    }
}

// ---- secret files

const std::string secret(40, 's');

TEST(SecretFile, B103_line_break_at_the_end_does_not_count) {
    const Folder folder;
    folder.file("lf", secret + "\n");
    folder.file("crlf", secret + "\r\n");
    folder.file("bare", secret);
    folder.file("two", secret + "\n\n");
    for (const auto& [name, expected] : std::map<std::string, std::string>{
             {"lf", secret}, {"crlf", secret}, {"bare", secret}, {"two", secret + "\n"}}) {
        const auto settings =
            load(folder.file("nebis.yaml", under_root("token: {keys: {k1: {secret-file: " + name + "}}}")));
        ASSERT_TRUE(settings) << settings.error().text();
        EXPECT_EQ(settings->token.keys.at("k1").secret, expected) << name;
        EXPECT_TRUE(settings->warnings.empty());
        EXPECT_EQ(token_keys(settings->token).current, "k1");
    }
}

TEST(SecretFile, B103_readable_by_everybody_is_warned_about) {
    const Folder folder;
    folder.file("open", secret, 0644);
    const auto settings = load(folder.file("nebis.yaml", under_root("token: {keys: {k1: {secret-file: open}}}")));
    ASSERT_TRUE(settings) << settings.error().text();
    ASSERT_EQ(settings->warnings.size(), 1u);
    EXPECT_THAT(settings->warnings[0],
                AllOf(HasSubstr("nebis.yaml:3:"), HasSubstr("everybody"), HasSubstr("chmod o-r")));
    const auto inline_secret =
        load(folder.file("open.yaml", under_root("token: {keys: {k1: {secret: " + secret + "}}}"), 0644));
    ASSERT_TRUE(inline_secret);
    EXPECT_EQ(inline_secret->warnings.size(), 1u);
}

TEST(SecretFile, B103_missing_empty_or_short_is_refused_without_showing_it) {
    const Folder folder;
    folder.file("short", "hunter2");
    folder.file("empty", "\n");
    const auto with = [&](const std::string& name) {
        return refusal_of(
            load(folder.file("nebis.yaml", under_root("token: {keys: {k1: {secret-file: " + name + "}}}"))));
    };
    EXPECT_THAT(with("absent"), AllOf(HasSubstr("nebis.yaml:3:"), HasSubstr("there is no such file")));
    EXPECT_THAT(with("short"),
                AllOf(HasSubstr("7 bytes"), HasSubstr("32 to 1024"), ::testing::Not(HasSubstr("hunter2"))));
    EXPECT_THAT(with("empty"), HasSubstr("0 bytes"));
    EXPECT_THAT(with("."), HasSubstr("directory"));
    EXPECT_THAT(refusal("token: {keys: {k1: {secret: hunter2}}}"),
                AllOf(HasSubstr("too short"), ::testing::Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace nebis::config
