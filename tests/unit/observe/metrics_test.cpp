// SPDX-License-Identifier: Apache-2.0
// S39: what is counted and how it is shown.
#include "observe/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>

namespace nebis::observe {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// The sample of a line that begins with this name and labels.
std::string sample(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name + " ")) return line.substr(name.size() + 1);
    }
    return "no " + name;
}

TEST(Metrics, S39_names_follow_the_naming_rules) {
    std::set<std::string_view> names;
    for (const auto& row : metric_table()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(row.name.starts_with("nebis_")) << row.name;
        EXPECT_EQ(row.type == "counter", row.name.ends_with("_total")) << row.name;
        EXPECT_EQ(row.type == "histogram", row.type != "gauge" && row.name.ends_with("_seconds")) << row.name;
        EXPECT_TRUE(row.help.ends_with('.')) << row.name;
    }
}

TEST(Metrics, S39_everything_is_there_with_zero_from_the_first_scrape) {
    Metrics metrics("1.2.3", "host-1");
    metrics.operation("pay");
    metrics.store("primary");
    const auto text = metrics.text();
    for (const auto* outcome : {"fresh", "replayed", "in_progress", "mismatch", "outcome_unknown", "duplicate",
                                "fenced_off", "unavailable", "refused", "unprotected"}) {
        EXPECT_EQ(sample(text, std::string("nebis_requests_total{operation=\"pay\",outcome=\"") + outcome + "\"}"), "0")
            << outcome;
    }
    for (const auto& row : metric_table()) {
        EXPECT_THAT(text, HasSubstr("# TYPE " + std::string(row.name) + " " + std::string(row.type) + "\n"));
        EXPECT_THAT(text, HasSubstr("# HELP " + std::string(row.name) + " " + std::string(row.help) + "\n"));
        EXPECT_TRUE(text.find("\n" + std::string(row.name) + "{") != std::string::npos ||
                    text.find("\n" + std::string(row.name) + " ") != std::string::npos ||
                    text.find("\n" + std::string(row.name) + "_bucket") != std::string::npos)
            << row.name << " has no sample";
    }
    EXPECT_EQ(sample(text, "nebis_build_info{version=\"1.2.3\",instance=\"host-1\"}"), "1");
}

TEST(Metrics, the_labels_of_the_table_are_the_labels_that_are_shown) {
    Metrics metrics;
    metrics.operation("pay");
    metrics.store("primary");
    const auto text = metrics.text();
    for (const auto& row : metric_table()) {
        std::string shown;
        const auto name = std::string(row.name) + (row.type == "histogram" ? "_count" : "");
        const auto at = text.find("\n" + name);
        ASSERT_NE(at, std::string::npos) << row.name;
        const auto line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
        const auto open = line.find('{');
        if (open != std::string::npos) {
            bool in_value = false;
            for (const char c : line.substr(open + 1, line.find('}') - open - 1)) {
                if (c == '"')
                    in_value = !in_value;
                else if (!in_value && c != '=')
                    shown += c == ',' ? std::string(", ") : std::string(1, c);
            }
        }
        EXPECT_EQ(shown, row.labels) << row.name;
    }
}

TEST(Metrics, answers_are_counted_by_outcome) {
    Metrics metrics;
    auto& pay = metrics.operation("pay");
    Answer answer;
    answer.outcome = Outcome::fresh;
    pay.answered(answer, 3ms);
    answer.outcome = Outcome::replayed;
    pay.answered(answer);
    pay.answered(answer);
    answer.outcome = Outcome::refused;
    pay.answered(answer);
    answer.outcome = Outcome::fresh;
    answer.unprotected = true;
    pay.answered(answer);
    const auto text = metrics.text();
    EXPECT_EQ(sample(text, "nebis_requests_total{operation=\"pay\",outcome=\"fresh\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_requests_total{operation=\"pay\",outcome=\"replayed\"}"), "2");
    EXPECT_EQ(sample(text, "nebis_requests_total{operation=\"pay\",outcome=\"refused\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_requests_total{operation=\"pay\",outcome=\"unprotected\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_request_duration_seconds_count{operation=\"pay\",outcome=\"fresh\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_request_duration_seconds_sum{operation=\"pay\",outcome=\"fresh\"}"), "0.003");
}

TEST(Metrics, histograms_are_cumulative_with_inclusive_bounds) {
    Metrics metrics;
    auto& histogram = metrics.operation("pay").handler_duration[HandlerResult::success];
    for (const auto duration : {0ns, 500'000ns, 500'001ns, 10'000'000'000ns, 10'000'000'001ns, -5ns})
        histogram.observe(duration);
    const auto text = metrics.text();
    const auto bucket = [&](const std::string& bound) {
        return sample(
            text, "nebis_handler_duration_seconds_bucket{operation=\"pay\",result=\"success\",le=\"" + bound + "\"}");
    };
    EXPECT_EQ(bucket("0.0005"), "3");
    EXPECT_EQ(bucket("0.001"), "4");
    EXPECT_EQ(bucket("7.5"), "4");
    EXPECT_EQ(bucket("10"), "5");
    EXPECT_EQ(bucket("+Inf"), "6");
    EXPECT_EQ(sample(text, "nebis_handler_duration_seconds_count{operation=\"pay\",result=\"success\"}"), "6");
    EXPECT_TRUE(std::ranges::is_sorted(Histogram::bounds));
}

TEST(Metrics, S50_observe_mode_and_other_words) {
    Metrics metrics;
    metrics.operation("pay").observed[Would::refuse_in_progress].add();
    metrics.operation("pay").conflicts[ConflictState::rejected].add(2);
    metrics.store("primary").ambiguous[Resolved::not_applied].add();
    metrics.store("primary").ops[StoreOp::begin][StoreResult::ok].observe(1ms);
    metrics.store("primary").breaker.set(static_cast<int>(BreakerState::open));
    metrics.store("primary").sessions_open.set(3);
    metrics.store("primary").sessions_busy.set(2);
    metrics.store("primary").clock_skew_millis.set(-1500);
    metrics.instance().renewals[Renewal::lost].add();
    metrics.instance().local_cache[CacheResult::hit].add();
    const auto text = metrics.text();
    EXPECT_EQ(sample(text, "nebis_observed_total{operation=\"pay\",would=\"refuse_in_progress\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_record_conflicts_total{operation=\"pay\",state=\"rejected\"}"), "2");
    EXPECT_EQ(sample(text, "nebis_ambiguous_writes_total{store=\"primary\",resolved=\"not_applied\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_store_op_duration_seconds_count{store=\"primary\",op=\"begin\",result=\"ok\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_breaker_state{store=\"primary\"}"), "2");
    EXPECT_EQ(sample(text, "nebis_pool_connections{store=\"primary\",state=\"busy\"}"), "2");
    EXPECT_EQ(sample(text, "nebis_pool_connections{store=\"primary\",state=\"idle\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_clock_skew_seconds{store=\"primary\"}"), "-1.5");
    EXPECT_EQ(sample(text, "nebis_lease_renewals_total{result=\"lost\"}"), "1");
    EXPECT_EQ(sample(text, "nebis_result_cache_total{cache=\"local\",result=\"hit\"}"), "1");
}

TEST(Metrics, names_from_outside_are_escaped) {
    Metrics metrics;
    metrics.operation("POST /a\"b\\c\nd");
    const auto text = metrics.text();
    EXPECT_THAT(text, HasSubstr("operation=\"POST /a\\\"b\\\\c\\nd\""));
    EXPECT_THAT(text, Not(HasSubstr("c\nd")));
}

TEST(Metrics, nothing_is_lost_between_threads_and_scrapes) {
    Metrics metrics;
    constexpr int threads = 8, rounds = 20'000;
    Answer first;
    first.outcome = Outcome::replayed;
    metrics.operation("pay").answered(first, 2us);  // so that the first scrape finds something
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&metrics] {
            auto& pay = metrics.operation("pay");
            Answer answer;
            answer.outcome = Outcome::replayed;
            for (int i = 0; i < rounds; ++i) {
                pay.answered(answer, 2us);
                pay.inserts.add();
                pay.waiting.add();
                pay.waiting.sub();
            }
        });
    }
    for (int i = 0; i < 20; ++i) {
        const auto text = metrics.text();
        // A scrape in between agrees with itself.
        EXPECT_EQ(
            sample(text, "nebis_request_duration_seconds_bucket{operation=\"pay\",outcome=\"replayed\",le=\"+Inf\"}"),
            sample(text, "nebis_request_duration_seconds_count{operation=\"pay\",outcome=\"replayed\"}"));
    }
    for (auto& thread : all) thread.join();
    const auto text = metrics.text();
    EXPECT_EQ(sample(text, "nebis_requests_total{operation=\"pay\",outcome=\"replayed\"}"),
              std::to_string(threads * rounds + 1));
    EXPECT_EQ(sample(text, "nebis_record_inserts_total{operation=\"pay\"}"), std::to_string(threads * rounds));
    EXPECT_EQ(sample(text, "nebis_waiting_duplicates{operation=\"pay\"}"), "0");
}

TEST(Metrics, references_stay) {
    Metrics metrics;
    auto& pay = metrics.operation("pay");
    for (int i = 0; i < 200; ++i) metrics.operation("operation " + std::to_string(i));
    EXPECT_EQ(&metrics.operation("pay"), &pay);
}

}  // namespace
}  // namespace nebis::observe
