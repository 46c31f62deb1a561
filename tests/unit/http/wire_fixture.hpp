// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headers.hpp"
#include "problems.hpp"
#include "site.hpp"
#include "support/http_client.hpp"
#include "wire.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nebis::http {

/// A site without an engine: says what it was asked. Requests to /slow wait until the test lets them go.
class EchoSite : public Site {
public:
    std::optional<Response> admit(Incoming& incoming) override {
        if (incoming.request.path == "/none") return refuse("not-found", {});
        incoming.body_limit = 1000;
        return std::nullopt;
    }

    void serve(Incoming incoming, Answered answered) override {
        served.fetch_add(1);
        const auto& request = incoming.request;
        Response response{200, {{"Content-Type", "text/plain"}}, request.method + ' ' + request.path, false};
        if (!request.query.empty()) response.body += '?' + request.query;
        response.body += " [" + request.body + ']';
        if (const auto* wanted = find_header(request.headers, "X-Status")) response.status = std::stoi(wanted->value);
        if (const auto* wanted = find_header(request.headers, "X-Size"))
            response.body.assign(std::stoul(wanted->value), 'x');
        for (const auto& header : request.headers)
            if (header.name.starts_with("X-Echo")) response.headers.push_back(header);
        if (request.path != "/slow") return answered(std::move(response));
        std::lock_guard lock(mutex);
        waiting.push_back({std::move(response), std::move(answered), incoming.gone, {}});
        // As the runtime does: whoever leaves while it waits is answered at once.
        waiting.back().left = std::make_unique<std::stop_callback<std::function<void()>>>(
            incoming.gone, std::function<void()>([this] { left.fetch_add(1); }));
        arrived.notify_all();
    }

    Response refuse(std::string_view word, std::string_view detail) override {
        return problem_response({.word = word, .detail = std::string(detail)}, {});
    }

    void log(std::string_view line) override {
        std::lock_guard lock(mutex);
        lines.emplace_back(line);
    }

    bool wait_for_slow(std::size_t count) {
        std::unique_lock lock(mutex);
        return arrived.wait_for(lock, std::chrono::seconds(10), [&] { return waiting.size() >= count; });
    }
    void let_go() {
        std::vector<Waiting> all;
        {
            std::lock_guard lock(mutex);
            all.swap(waiting);
        }
        for (auto& one : all) one.answered(std::move(one.response));
    }

    struct Waiting {
        Response response;
        Answered answered;
        std::stop_token gone;
        std::unique_ptr<std::stop_callback<std::function<void()>>> left;
    };
    std::mutex mutex;
    std::condition_variable arrived;
    std::vector<Waiting> waiting;
    std::vector<std::string> lines;
    std::atomic<int> served = 0;
    std::atomic<int> left = 0;
};

class WireTest : public testing::Test {
protected:
    static WireOptions quick() {
        WireOptions options;
        options.listen = "127.0.0.1:0";
        options.read_timeout = std::chrono::milliseconds(10'000);
        options.head = {.max_bytes = 8192, .max_lines = 50, .max_target = 2000};
        return options;
    }

    void start(WireOptions options = quick()) {
        wire = std::make_unique<Wire>(site, options);
        const auto started = wire->start();
        ASSERT_TRUE(started) << started.error().text();
        ASSERT_NE(wire->port(), 0);
    }
    void TearDown() override {
        if (wire) wire->stop(std::chrono::milliseconds(100));
    }

    test::HttpClient client() { return test::HttpClient("127.0.0.1", wire->port()); }

    /// The status that these bytes get; 0 when the connection ends without an answer. Expects it to end after a
    /// refusal.
    int status_of(const std::string& bytes, bool then_eof = false) {
        auto one = client();
        EXPECT_TRUE(one.send(bytes));
        if (then_eof) one.half_close();
        const auto reply = one.read();
        if (!reply) return 0;
        if (reply->status >= 400) {
            EXPECT_EQ(reply->header("Connection"), "close");
            EXPECT_TRUE(one.closed());
        }
        return reply->status;
    }

    /// Waits for a condition that another thread brings about.
    template <class Condition>
    static bool eventually(Condition condition) {
        for (int i = 0; i < 2000; ++i) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return false;
    }

    std::shared_ptr<EchoSite> site = std::make_shared<EchoSite>();
    std::unique_ptr<Wire> wire;
};

}  // namespace nebis::http
