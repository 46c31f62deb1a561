// SPDX-License-Identifier: Apache-2.0
#include "driver/settings_reader.hpp"

#include <charconv>
#include <utility>

namespace nebis::driver {
namespace {

std::optional<std::int64_t> number_in(std::string_view text, std::int64_t least, std::int64_t most) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc() || stop != end || number < least || number > most) return {};
    return number;
}

}  // namespace

const std::string* SettingsReader::value(std::string_view key) const {
    const auto at = settings_.values.find(std::string(key));
    return at == settings_.values.end() ? nullptr : &at->second;
}

void SettingsReader::refuse(std::string_view key, std::string_view must) {
    if (fault_) return;
    std::string message = "`";
    message.append(section_).append(key).append("` must be ").append(must);
    fault_ = Error(ErrorKind::misconfigured, std::move(message)).with_code(word_);
}

void SettingsReader::text(std::string_view key, std::string& into) {
    if (const auto* const written = value(key)) into = *written;
}

void SettingsReader::list(std::string_view key, std::vector<std::string>& into) {
    const auto* const written = value(key);
    if (!written) return;
    into.clear();
    for (std::string_view rest = *written;;) {
        const auto comma = rest.find(',');
        auto one = rest.substr(0, comma);
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        into.emplace_back(one);
        if (comma == std::string_view::npos) return;
        rest.remove_prefix(comma + 1);
    }
}

void SettingsReader::flag(std::string_view key, bool& into) {
    const auto* const written = value(key);
    if (!written) return;
    if (*written != "true" && *written != "false") return refuse(key, "true or false");
    into = *written == "true";
}

void SettingsReader::number(std::string_view key, std::size_t& into, std::size_t least, std::size_t most) {
    const auto* const written = value(key);
    if (!written) return;
    const auto read = number_in(*written, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
    if (!read) return refuse(key, "a number from " + std::to_string(least) + " to " + std::to_string(most));
    into = static_cast<std::size_t>(*read);
}

void SettingsReader::millis(std::string_view key, std::chrono::milliseconds& into, std::int64_t most) {
    const auto* const written = value(key);
    if (!written) return;
    const auto read = number_in(*written, 1, most);
    if (!read) return refuse(key, "a number from 1 to " + std::to_string(most));
    into = std::chrono::milliseconds(*read);
}

DriverKey driver_key(std::string name, DriverKey::Kind kind, std::string fallback, std::string about) {
    DriverKey made;
    made.name = std::move(name);
    made.kind = kind;
    made.fallback = std::move(fallback);
    made.about = std::move(about);
    if (kind == DriverKey::Kind::integer) {
        made.min = 1;
        made.max = SettingsReader::longest_millis;
    }
    return made;
}

DriverKey driver_number(std::string name, std::string fallback, std::int64_t min, std::int64_t max, std::string about) {
    DriverKey made = driver_key(std::move(name), DriverKey::Kind::integer, std::move(fallback), std::move(about));
    made.min = min;
    made.max = max;
    return made;
}

}  // namespace nebis::driver
