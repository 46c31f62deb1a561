// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/local.hpp"
#include "nebis/memory.hpp"
#include "nebis/nebis.hpp"
#include "nebis/sqlite.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nebis::testkit {

/// A folder of this test alone, gone with it.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "nebis-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// Some threads that run what is posted.
class Pool final : public Executor {
public:
    explicit Pool(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
    }
    ~Pool() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        ready_.notify_all();
        for (auto& thread : threads_) thread.join();
    }
    void post(std::function<void()> task) override {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        ready_.notify_one();
    }

private:
    void loop() {
        std::unique_lock lock(mutex_);
        for (;;) {
            ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }
    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

/// Budgets wide enough for a machine that is busy with something else: what is tested here is who runs, not how fast.
inline constexpr const char* unhurried = "nebis: {idempotent: {lock-expire-millis: 60000, budget-millis: 50000}}";

inline Engine engine_on(std::shared_ptr<Store> store, std::string configuration = unhurried) {
    Engine::Parts parts;
    parts.store = std::move(store);
    parts.gate = local::gate();
    parts.configuration = std::move(configuration);
    parts.options.use_environment = false;
    parts.log = [](const std::string&) {};
    return Engine::make(std::move(parts)).value();
}

inline std::shared_ptr<Store> sqlite_store(const std::string& file) {
    return sqlite::store(sqlite::Options{.path = file, .create_schema = true});
}

inline Request request_with(std::string key, std::string body = R"({"amount":"1"})") {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.content_type = "application/json";
    request.headers = {{"Idempotency-Key", std::move(key)}};
    request.body = std::move(body);
    return request;
}

}  // namespace nebis::testkit
