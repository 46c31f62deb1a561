// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace nebis::test {

/// Calls without a pause until it goes, and remembers the longest one.
class Load {
public:
    explicit Load(std::function<void(int)> call)
        : thread_([this, call = std::move(call)](const std::stop_token& stop) {
              for (int i = 0; !stop.stop_requested(); ++i) {
                  const auto before = std::chrono::steady_clock::now();
                  try {
                      call(i);
                      ++done_;
                  } catch (const std::exception& failure) {
                      failure_ = failure.what();
                      return;
                  }
                  longest_ = std::max(longest_, std::chrono::steady_clock::now() - before);
              }
          }) {}
    void end() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
    }
    long longest_millis() const { return std::chrono::duration_cast<std::chrono::milliseconds>(longest_).count(); }
    int done() const { return done_; }
    const std::string& failure() const { return failure_; }

private:
    std::chrono::steady_clock::duration longest_{};
    int done_ = 0;
    std::string failure_;
    std::jthread thread_;
};

}  // namespace nebis::test
