// SPDX-License-Identifier: Apache-2.0
// D7: the one table of settings is complete and true.
#include "config/table.hpp"

#include "loading.hpp"

#include <algorithm>
#include <set>

namespace nebis::config {
namespace {

bool is_number(const Row& row) {
    return row.kind == Kind::count || row.kind == Kind::bytes || row.kind == Kind::millis || row.kind == Kind::hours;
}

TEST(Table, each_key_once_and_described) {
    std::set<std::string_view> paths;
    for (const auto& row : table()) {
        EXPECT_TRUE(paths.insert(row.path).second) << row.path;
        EXPECT_FALSE(row.about.empty()) << row.path;
        EXPECT_TRUE(row.about.ends_with('.')) << row.path;
        EXPECT_NE(row.field, nullptr) << row.path;
        EXPECT_TRUE(std::ranges::all_of(row.path, [](char c) {
            return (c >= 'a' && c <= 'z') || std::string_view(".-<>").find(c) != std::string_view::npos;
        })) << row.path;
        EXPECT_EQ(find_row(row.path), &row);
    }
    EXPECT_EQ(find_row("no-such-key"), nullptr);
}

TEST(Table, every_number_says_what_too_low_and_too_high_cost) {
    for (const auto& row : table()) {
        if (!is_number(row)) continue;
        EXPECT_LT(row.min, row.max) << row.path;
        EXPECT_FALSE(row.too_high.empty()) << row.path;
        EXPECT_FALSE(row.too_low.empty()) << row.path;
    }
}

TEST(Table, durations_carry_their_unit_in_the_key) {
    for (const auto& row : table()) {
        EXPECT_EQ(row.kind == Kind::millis, row.path.ends_with("-millis")) << row.path;
        EXPECT_EQ(row.kind == Kind::hours, row.path.ends_with("-hours")) << row.path;
        EXPECT_EQ(row.kind == Kind::bytes, row.path.ends_with("-bytes")) << row.path;
    }
}

TEST(Table, defaults_are_in_range) {
    for (const auto& row : table()) {
        auto settings = default_settings();
        const std::string name = row.path.starts_with("token.keys") ? "k1" : "in-progress";
        const auto value = value_of(row, {settings, settings.defaults, name});
        if (value.items.empty()) continue;
        const auto complaint = assign(row, {settings, settings.defaults, name}, value);
        EXPECT_FALSE(complaint) << row.path << ": " << complaint->what;
        EXPECT_EQ(value_of(row, {settings, settings.defaults, name}), value) << row.path;
    }
}

TEST(Table, limits_are_taken_and_what_lies_beyond_is_not) {
    for (const auto& row : table()) {
        if (!is_number(row)) continue;
        Settings settings;
        const Target target{settings, settings.defaults, "x"};
        EXPECT_FALSE(assign(row, target, std::to_string(row.min))) << row.path;
        EXPECT_EQ(value_of(row, target), Value(std::to_string(row.min))) << row.path;
        EXPECT_FALSE(assign(row, target, std::to_string(row.max))) << row.path;
        EXPECT_EQ(value_of(row, target), Value(std::to_string(row.max))) << row.path;
        EXPECT_TRUE(assign(row, target, std::to_string(row.min - 1))) << row.path;
        EXPECT_TRUE(assign(row, target, std::to_string(row.max + 1))) << row.path;
        EXPECT_EQ(value_of(row, target), Value(std::to_string(row.max)))
            << row.path;  // a refused value changes nothing
    }
}

TEST(Table, every_choice_can_be_taken_and_read_back) {
    for (const auto& row : table()) {
        if (row.kind != Kind::choice || row.alternative == "key") continue;
        EXPECT_GE(row.choices.size(), 2u);
        for (const auto choice : row.choices) {
            Settings settings;
            EXPECT_FALSE(assign(row, {settings, settings.defaults, {}}, std::string(choice))) << row.path << choice;
            EXPECT_EQ(value_of(row, {settings, settings.defaults, {}}), Value(std::string(choice)));
        }
    }
}

TEST(Table, choices_mean_the_enumerators_of_the_same_name) {
    const auto with = [](const char* key, const char* value) {
        Settings settings;
        EXPECT_FALSE(assign(*find_row(key), {settings, settings.defaults, {}}, value));
        return settings;
    };
    EXPECT_EQ(with("mode", "hooked").defaults.mode, Mode::hooked);
    EXPECT_EQ(with("mode", "mark").defaults.mode, Mode::mark);
    EXPECT_EQ(with("claim", "inside").defaults.claim, Claim::inside);
    EXPECT_EQ(with("scope", "public").defaults.scope, Scope::shared);
    EXPECT_EQ(with("scope", "tenant").defaults.scope, Scope::tenant);
    EXPECT_EQ(with("duplicate-handler", "return").defaults.on_duplicate, OnDuplicate::give);
    EXPECT_EQ(with("duplicate-handler", "wait").defaults.on_duplicate, OnDuplicate::wait);
    EXPECT_EQ(with("on-finished", "refuse").defaults.on_finished, OnFinished::refuse);
    EXPECT_EQ(with("on-unknown", "ask").defaults.on_unknown, OnUnknown::ask);
    EXPECT_EQ(with("on-unknown", "retry").defaults.on_unknown, OnUnknown::retry);
    EXPECT_EQ(with("unlisted", "fail").defaults.unlisted, Unlisted::fail);
    EXPECT_EQ(with("on-store-failure", "allow").defaults.on_store_failure, OnStoreFailure::allow);
    EXPECT_EQ(with("enforcement", "observe").defaults.enforcement, Enforcement::observe);
    EXPECT_EQ(with("enforcement", "off").defaults.enforcement, Enforcement::off);
    EXPECT_EQ(with("profile", "article").defaults.profile, Profile::article);
    EXPECT_EQ(with("messages.language", "zh").messages.language, observe::Language::zh);
    EXPECT_EQ(with("http.in-progress-status", "425").http.in_progress_status, InProgressStatus::too_early);
    EXPECT_EQ(with("http.in-progress-status", "202").http.in_progress_status, InProgressStatus::accepted);
    EXPECT_EQ(with("http.mismatch-status", "409").http.mismatch_status, MismatchStatus::conflict);
    EXPECT_EQ(with("http.mismatch-status", "400").http.mismatch_status, MismatchStatus::bad_request);
}

TEST(Table, operation_rows_reach_the_operation_and_no_further) {
    for (const auto& row : table()) {
        if (!row.operation) continue;
        EXPECT_EQ(row.path.find('<'), std::string_view::npos) << row.path;
        Settings a, b;
        OperationSettings operation;
        const auto in_a = row.field(*std::make_unique<Target>(Target{a, operation, {}}));
        const auto in_b = row.field(*std::make_unique<Target>(Target{b, operation, {}}));
        EXPECT_EQ(in_a.index(), in_b.index());
        const auto address = [](const Field& field) {
            return std::visit(
                [](const auto& f) -> const void* {
                    if constexpr (std::is_same_v<std::decay_t<decltype(f)>, KeyField>)
                        return f.rule;
                    else
                        return f;
                },
                field);
        };
        EXPECT_EQ(address(in_a), address(in_b)) << row.path;
    }
}

}  // namespace
}  // namespace nebis::config
