// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "observe/utf8.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace nebis::observe {
namespace {

std::string_view word(Level level) {
    switch (level) {
        case Level::debug: return "debug";
        case Level::info: return "info";
        case Level::warn: return "warn";
        case Level::error: return "error";
    }
    return "error";
}

class Line {
public:
    void text(std::string_view name, std::string_view value, std::size_t longest) {
        if (value.empty()) return;
        begin(name);
        std::string clean;
        bool cut = false;
        for (std::size_t at = 0; at < value.size();) {
            const auto length = utf8_sequence(value.substr(at));
            const auto piece = length == 0 ? std::string_view("\xef\xbf\xbd") : value.substr(at, length);
            if (clean.size() + piece.size() > longest) {
                cut = true;
                break;
            }
            clean += piece;
            at += std::max<std::size_t>(length, 1);
        }
        if (cut) clean += "…";
        out_ += boost::json::serialize(boost::json::string(clean));
    }
    template <class Number>
    void number(std::string_view name, const std::optional<Number>& value) {
        if (!value) return;
        begin(name);
        out_ += std::to_string(*value);
    }
    void millis(std::string_view name, const std::optional<std::chrono::nanoseconds>& value) {
        if (!value) return;
        begin(name);
        std::array<char, 32> digits{};
        const auto microseconds = value->count() / 1000;
        std::snprintf(digits.data(), digits.size(), "%lld.%03lld", static_cast<long long>(microseconds / 1000),
                      static_cast<long long>(microseconds < 0 ? -(microseconds % 1000) : microseconds % 1000));
        out_ += digits.data();
    }
    std::string close() && {
        out_ += '}';
        return std::move(out_);
    }

private:
    void begin(std::string_view name) {
        out_ += out_.size() > 1 ? ",\"" : "\"";
        out_ += name;
        out_ += "\":";
    }
    std::string out_ = "{";
};

std::string rfc3339(std::chrono::system_clock::time_point time) {
    using namespace std::chrono;
    const auto millis = floor<milliseconds>(time);
    const auto day = floor<days>(millis);
    const year_month_day date{day};
    const hh_mm_ss clock{millis - day};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
    return text.data();
}

}  // namespace

std::string json_line(const Event& event, std::chrono::system_clock::time_point time, std::string_view instance) {
    // The sum of the longest texts, even if every byte were escaped as \u00xx, is under longest_line for the short
    // fields; the two long ones share what is left.
    constexpr std::size_t name = 64;
    Line line;
    line.text("ts", rfc3339(time), name);
    line.text("level", word(event.level), name);
    line.text("msg", event.message, 160);
    line.text("operation", event.operation, name);
    line.text("outcome", event.outcome, 32);
    line.text("key_hash", event.key_hash, 16);
    line.number("attempt", event.attempt);
    line.number("version", event.version);
    line.number("lease_ms", event.lease_millis);
    line.millis("handler_ms", event.handler_time);
    line.millis("store_ms", event.store_time);
    line.number("status", event.status);
    line.number("count", event.count);
    line.text("store", event.store, name);
    line.text("request_id", event.request_id, name);
    line.text("instance", instance, name);
    line.text("error.type", event.error_kind, name);
    line.text("detail", event.detail, 1200);
    line.text("hint", event.hint, 400);
    auto text = std::move(line).close();
    if (text.size() <= longest_line) return text;
    // Only a text full of control bytes gets here: say less rather than break the line.
    Event shorter = event;
    shorter.detail = {};
    shorter.hint = "details left out: they held too many control characters";
    shorter.request_id = {};
    return json_line(shorter, time, instance);
}

std::string key_hash(std::string_view trace_id) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(trace_id.data(), trace_id.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) return {};
    constexpr std::string_view hex = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < 8; ++i) {
        out += hex[digest[i] >> 4];
        out += hex[digest[i] & 15];
    }
    return out;
}

}  // namespace nebis::observe
