// SPDX-License-Identifier: Apache-2.0
// A share of `make explore` for every build: the smaller sound configurations, and every conviction.
#include "configs.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace nebis::explore {
namespace {

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) text += std::to_string(i + 1) + ". " + lines[i] + "\n";
    return text;
}

template <class Case>
std::string test_name(const testing::TestParamInfo<Case>& info) {
    std::string name;
    for (char c : info.param.config.name) {
        if (std::isalnum(static_cast<unsigned char>(c)))
            name += c;
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    return name;
}

void expect_right(const Outcome& outcome, bool convict) {
    EXPECT_EQ(outcome.violation.empty(), !convict) << outcome.violation << "\n" << joined(outcome.trace);
    EXPECT_EQ(outcome.trace.empty(), !convict);
    EXPECT_TRUE(convict || outcome.complete);
    EXPECT_TRUE(convict || outcome.ends > 0);
}

class Protocol : public testing::TestWithParam<Task> {};

TEST_P(Protocol, is_judged_rightly) {
    const Task& task = GetParam();
    const Outcome outcome = Search<World, Config, Move>(task.config, {.states = 2'000'000}).run();
    expect_right(outcome, task.convict);
    EXPECT_TRUE(outcome.violation.starts_with(task.charge)) << outcome.violation;
}

INSTANTIATE_TEST_SUITE_P(Sound, Protocol, testing::ValuesIn(sound_tasks(true)), test_name<Task>);
INSTANTIATE_TEST_SUITE_P(Broken, Protocol, testing::ValuesIn(broken_tasks()), test_name<Task>);

class Article : public testing::TestWithParam<ArticleTask> {};

TEST_P(Article, is_judged_rightly) {
    const ArticleTask& task = GetParam();
    const Outcome outcome = Search<ArticleWorld, ArticleConfig, ArticleMove>(task.config, {}).run();
    expect_right(outcome, task.convict);
    EXPECT_LE(outcome.trace.size(), 14u);
}

INSTANTIATE_TEST_SUITE_P(Explored, Article, testing::ValuesIn(article_tasks()), test_name<ArticleTask>);

TEST(Search, finds_a_state_without_a_way_to_an_end) {
    Liveness liveness;
    liveness.edge(0, 1);
    liveness.edge(0, 2);
    liveness.edge(2, 3);
    liveness.edge(3, 2);  // 2 and 3 go round for ever
    liveness.end(1);
    EXPECT_EQ(liveness.stuck(4), 2);
    EXPECT_EQ(Liveness().stuck(0), -1);
}

TEST(Search, counts_each_state_once) {
    Visited visited;
    bool fresh = false;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        Digest digest;
        digest.take(i % 5'000);
        visited.insert(digest, static_cast<std::uint32_t>(i), fresh);
        EXPECT_EQ(fresh, i < 5'000);
    }
    EXPECT_EQ(visited.size(), 5'000u);
    EXPECT_EQ(visited.parent(4'999), 4'999u);
}

}  // namespace
}  // namespace nebis::explore
