// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace nebis::http {
namespace {

const std::string* header(const Response& response, std::string_view name) {
    for (const auto& one : response.headers)
        if (one.name == name) return &one.value;
    return nullptr;
}

TEST(HttpProblems, words_are_unique_and_statuses_are_errors) {
    std::set<std::string_view> words;
    for (const auto& type : problem_types()) {
        EXPECT_TRUE(words.insert(type.word).second) << type.word;
        EXPECT_EQ(type.word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << type.word;
        EXPECT_GE(type.status, 400);
        EXPECT_LE(type.status, 599);
        EXPECT_FALSE(type.title.empty() || type.meaning.empty() || type.remedy.empty()) << type.word;
    }
    EXPECT_EQ(problem_type("no such word").word, "internal");
}

// RFC 9457; I-11, I-12, I-13: body and link
TEST(HttpProblems, I12_response_is_problem_json_with_a_link_to_the_documentation) {
    Presentation presentation;
    presentation.documentation_url = "https://shop.example/docs";
    const auto response =
        problem_response({.word = "in-progress", .request_id = "r-1", .retry_after = 3}, presentation);
    EXPECT_EQ(response.status, 409);
    EXPECT_EQ(*header(response, "Content-Type"), "application/problem+json");
    EXPECT_EQ(*header(response, "Link"), "<https://shop.example/docs#in-progress>; rel=\"describedby\"");
    EXPECT_EQ(*header(response, "Retry-After"), "3");
    EXPECT_EQ(*header(response, "X-Request-Id"), "r-1");
    const auto body = boost::json::parse(response.body).as_object();
    EXPECT_EQ(body.at("type").as_string(), "urn:nebis:problem:in-progress");
    EXPECT_EQ(body.at("status").as_int64(), 409);
    EXPECT_EQ(body.at("instance").as_string(), "urn:nebis:request:r-1");
    EXPECT_FALSE(body.at("title").as_string().empty());
    EXPECT_FALSE(body.at("detail").as_string().empty());
}

TEST(HttpProblems, type_does_not_change_with_the_place_of_the_documentation) {
    Presentation presentation;
    EXPECT_EQ(header(problem_response({.word = "mismatch"}, presentation), "Link"), nullptr);
    const auto bare = boost::json::parse(problem_response({.word = "mismatch"}, presentation).body).at("type");
    presentation.documentation_url = "/elsewhere";
    EXPECT_EQ(boost::json::parse(problem_response({.word = "mismatch"}, presentation).body).at("type"), bare);
    presentation.problem_type_base = "https://shop.example/problems/";
    EXPECT_EQ(boost::json::parse(problem_response({.word = "mismatch"}, presentation).body).at("type").as_string(),
              "https://shop.example/problems/mismatch");
}

TEST(HttpProblems, details_that_are_not_utf8_still_make_json) {
    const std::pair<std::string, std::string> cases[] = {{"caf\xC3\xA9 \xE4\xBD\x99", "caf\xC3\xA9 \xE4\xBD\x99"},
                                                         {"a\xFFz", "a?z"},
                                                         {"\xC3", "?"},
                                                         {"\xC0\xAF", "??"},
                                                         {"\xED\xA0\x80", "???"},
                                                         {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
                                                         {"\xF4\x90\x80\x80", "????"},
                                                         {"\xE0\x80\x80", "???"}};
    for (const auto& [given, shown] : cases) {
        const auto body = boost::json::parse(problem_response({.word = "rejected", .detail = given}, {}).body);
        EXPECT_EQ(std::string(body.at("detail").as_string()), shown);
    }
}

TEST(HttpProblems, page_escapes_and_has_an_anchor_for_each_word) {
    const auto page = problems_html("<p>x</p>");
    for (const auto& type : problem_types())
        EXPECT_NE(page.find("id=\"" + std::string(type.word) + '"'), std::string::npos);
    EXPECT_EQ(html_escaped("<a href=\"x\">&</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
}

// D7: the page is made of the table. NEBIS_UPDATE_GOLDEN=1 writes it.
TEST(HttpProblems, golden_docs_problems_md_is_current) {
    const std::string path = std::string(NEBIS_SOURCE_DIR) + "/docs/problems.md";
    if (std::getenv("NEBIS_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << problems_markdown();
    std::ifstream file(path);
    ASSERT_TRUE(file) << path << " is missing; NEBIS_UPDATE_GOLDEN=1 writes it";
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), problems_markdown()) << "NEBIS_UPDATE_GOLDEN=1 writes docs/problems.md anew";
}

}  // namespace
}  // namespace nebis::http
