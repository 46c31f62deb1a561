// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "observe/instruments.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// Events as JSON lines. No raw key, token or body is ever in one: records are named by `key_hash`.
namespace nebis::observe {

enum class Level : std::uint8_t { debug, info, warn, error };

/// One event. Every field but the message is optional: an empty text or an absent number is left out of the line. Views
/// live for the call.
struct Event {
    Level level = Level::info;
    std::string_view message = {};  ///< a constant sentence, so that lines can be grouped by it
    std::string_view operation = {};
    std::string_view outcome = {};
    std::string_view key_hash = {};  ///< of `key_hash(trace_id)`
    std::optional<std::uint32_t> attempt = {};
    std::optional<std::uint64_t> version = {};
    std::optional<std::int64_t> lease_millis = {};
    std::optional<std::chrono::nanoseconds> handler_time = {};
    std::optional<std::chrono::nanoseconds> store_time = {};
    std::optional<int> status = {};
    std::optional<std::uint64_t> count = {};  ///< how many records or requests the event is about
    std::string_view store = {};
    std::string_view request_id = {};
    std::string_view error_kind = {};  ///< of to_string(ErrorKind), or an exception's type
    std::string_view detail = {};
    std::string_view hint = {};
};

/// Where events go. **Threads**: any. **Time**: never waits for the receiver. **Errors**: none; what can't be written
/// is dropped and counted.
class Log {
public:
    virtual ~Log() = default;
    virtual bool enabled(Level level) const noexcept = 0;
    virtual void write(const Event& event) noexcept = 0;
};

/// The first 16 hex digits of SHA-256 of a stored trace id: enough to find a record, useless to guess a key.
std::string key_hash(std::string_view trace_id);

/// An event as one line of JSON without the line break: `ts level msg operation outcome key_hash attempt version …` in
/// this order; at most `longest_line` bytes (long details are cut), valid UTF-8 whatever came in.
constexpr std::size_t longest_line = 4000;
std::string json_line(const Event& event, std::chrono::system_clock::time_point time, std::string_view instance);

struct LogOptions {
    Level level = Level::info;
    std::string instance = {};
    std::size_t queue_max = 4096;  ///< lines waiting for the receiver; more are dropped
    /// Gets each line without its line break, on the log's own thread, and must return; empty: stderr.
    std::function<void(const std::string&)> sink = {};
    int descriptor = 2;                                               ///< when there is no sink
    Counter* dropped = nullptr;                                       ///< counts dropped lines; must outlive the log
    std::function<std::chrono::system_clock::time_point()> now = {};  ///< empty: the system clock
};

/// A log with a thread of its own that hands lines to the receiver. The destructor waits for what is queued: at most
/// a second for a descriptor, as long as it takes for a sink.
std::unique_ptr<Log> make_log(LogOptions options);
/// A log that drops everything.
std::unique_ptr<Log> make_silent_log();

}  // namespace nebis::observe
