// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace nebis::observe {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const auto moment = std::chrono::sys_days{std::chrono::year{2026} / 12 / 2} + 1h + 2min + 3s + 45ms;

TEST(LogLine, all_fields_in_their_order) {
    const auto line = json_line({.level = Level::warn,
                                 .message = "lease lost",
                                 .operation = "payOrder",
                                 .outcome = "fenced_off",
                                 .key_hash = "0123456789abcdef",
                                 .attempt = 2,
                                 .version = 1'700'000'000'000'001,
                                 .lease_millis = 10'000,
                                 .handler_time = 1'234'567ns,
                                 .store_time = 0ns,
                                 .status = 503,
                                 .count = 7,
                                 .store = "primary",
                                 .request_id = "r-1",
                                 .error_kind = "unavailable",
                                 .detail = "disk \"full\"",
                                 .hint = "make room"},
                                moment, "host-1");
    EXPECT_EQ(
        line,
        R"({"ts":"2026-12-02T01:02:03.045Z","level":"warn","msg":"lease lost","operation":"payOrder","outcome":"fenced_off",)"
        R"("key_hash":"0123456789abcdef","attempt":2,"version":1700000000000001,"lease_ms":10000,"handler_ms":1.234,"store_ms":0.000,"status":503,)"
        R"("count":7,"store":"primary","request_id":"r-1","instance":"host-1","error.type":"unavailable","detail":"disk \"full\"","hint":"make room"})");
    EXPECT_NO_THROW((void)boost::json::parse(line));
}

TEST(LogLine, what_is_absent_is_left_out) {
    EXPECT_EQ(json_line({.message = "started"}, moment, ""),
              R"({"ts":"2026-12-02T01:02:03.045Z","level":"info","msg":"started"})");
}

TEST(LogLine, hostile_texts_stay_one_valid_line) {
    std::string nasty;
    for (int c = 0; c < 256; ++c) nasty += static_cast<char>(c);
    for (const auto& text : {nasty, std::string("\n{\"level\":\"info\"}"), std::string(100'000, '\x01'),
                             std::string(100'000, '"'), std::string(5000, '\xff'), std::string("a\xe5\xb9")}) {
        const auto line = json_line(
            {.message = "m", .operation = text, .request_id = text, .error_kind = text, .detail = text, .hint = text},
            moment, text);
        EXPECT_LE(line.size(), longest_line);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        EXPECT_NO_THROW((void)boost::json::parse(line)) << line;
    }
    std::string wide;
    for (int i = 0; i < 3000; ++i) wide += "幂";
    const auto line = json_line({.message = "m", .detail = wide}, moment, "");
    EXPECT_NO_THROW((void)boost::json::parse(line));
    EXPECT_THAT(line, HasSubstr("…\"}"));
}

TEST(KeyHash, is_the_front_of_sha256_and_never_the_key) {
    EXPECT_EQ(key_hash("abc"), "ba7816bf8f01cfea");
    EXPECT_EQ(key_hash(""), "e3b0c44298fc1c14");
}

struct Lines {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> lines;
    bool open = true;

    auto sink() {
        return [this](const std::string& line) {
            std::unique_lock lock(mutex);
            changed.wait_for(lock, 10s, [this] { return open; });
            lines.push_back(line);
            changed.notify_all();
        };
    }
    bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, 10s, [&] { return lines.size() >= count; });
    }
};

LogOptions to(Lines& lines) {
    LogOptions options;
    options.sink = lines.sink();
    options.now = [] { return std::chrono::system_clock::time_point(moment); };
    return options;
}

TEST(Log, lines_arrive_in_order_and_all_before_it_ends) {
    Lines lines;
    {
        const auto log = make_log(to(lines));
        for (int i = 0; i < 100; ++i) log->write({.message = "m", .count = i});
    }
    ASSERT_EQ(lines.lines.size(), 100u);
    for (int i = 0; i < 100; ++i)
        EXPECT_THAT(lines.lines[static_cast<std::size_t>(i)], HasSubstr("\"count\":" + std::to_string(i) + "}"));
}

TEST(Log, level_filters) {
    Lines lines;
    {
        auto options = to(lines);
        options.level = Level::warn;
        const auto log = make_log(std::move(options));
        EXPECT_FALSE(log->enabled(Level::info));
        EXPECT_TRUE(log->enabled(Level::error));
        log->write({.level = Level::info, .message = "no"});
        log->write({.level = Level::error, .message = "yes"});
    }
    ASSERT_EQ(lines.lines.size(), 1u);
    EXPECT_THAT(lines.lines[0], HasSubstr("yes"));
    EXPECT_FALSE(make_silent_log()->enabled(Level::error));
}

TEST(Log, a_stuck_receiver_costs_lines_and_no_time) {
    Lines lines;
    Counter dropped;
    lines.open = false;
    {
        auto options = to(lines);
        options.queue_max = 10;
        options.dropped = &dropped;
        const auto log = make_log(std::move(options));
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; ++i) log->write({.message = "m"});
        EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
        {
            const std::lock_guard lock(lines.mutex);
            lines.open = true;
        }
        lines.changed.notify_all();
    }
    EXPECT_EQ(lines.lines.size() + dropped.value(), 1000u);
    EXPECT_GE(dropped.value(), 1000u - 2 * 10u - 1);
}

TEST(Log, a_receiver_that_throws_costs_the_line) {
    Counter dropped;
    {
        LogOptions options;
        options.sink = [](const std::string&) { throw std::runtime_error("full"); };
        options.dropped = &dropped;
        const auto log = make_log(std::move(options));
        log->write({.message = "m"});
    }
    EXPECT_EQ(dropped.value(), 1u);
}

TEST(Log, a_full_pipe_never_blocks_and_the_end_is_bounded) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Counter dropped;
    const auto start = std::chrono::steady_clock::now();
    {
        LogOptions options;
        options.descriptor = ends[1];
        options.dropped = &dropped;
        const auto log = make_log(std::move(options));
        for (int i = 0; i < 3000; ++i)
            log->write({.message = "m", .detail = std::string(500, 'x')});  // more than a pipe holds
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
    EXPECT_GT(dropped.value(), 0u);
    // What went through are whole lines.
    ::close(ends[1]);
    std::string text;
    char buffer[65536];
    for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + dropped.value(), 3000u);
    EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(Log, a_closed_descriptor_is_survived) {
    Counter dropped;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[1]);
    {
        LogOptions options;
        options.descriptor = ends[1];
        options.dropped = &dropped;
        const auto log = make_log(std::move(options));
        log->write({.message = "m"});
    }
    ::close(ends[0]);
    EXPECT_EQ(dropped.value(), 1u);
}

TEST(Log, a_reader_that_went_away_does_not_end_the_process) {
    Counter dropped;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[0]);
    {
        LogOptions options;
        options.descriptor = ends[1];
        options.dropped = &dropped;
        const auto log = make_log(std::move(options));
        log->write({.message = "m"});
    }
    ::close(ends[1]);
    EXPECT_EQ(dropped.value(), 1u);
}

}  // namespace
}  // namespace nebis::observe
