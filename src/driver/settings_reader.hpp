// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::driver {

/// Reads the values of a data source into a driver's options. The first value that can't be is kept as `fault`; a key
/// that isn't written leaves its option alone.
class SettingsReader {
public:
    static constexpr std::int64_t longest_millis = 600'000;

    /// `word` is the code of its errors: "postgres-setting". `section` stands before a key in them: "lock.".
    SettingsReader(const DriverSettings& settings, const char* word, const char* section = "")
        : settings_(settings), word_(word), section_(section) {}

    void text(std::string_view key, std::string& into);
    void list(std::string_view key, std::vector<std::string>& into);  ///< separated by commas
    void flag(std::string_view key, bool& into);
    void number(std::string_view key, std::size_t& into, std::size_t least, std::size_t most);
    void millis(std::string_view key, std::chrono::milliseconds& into, std::int64_t most = longest_millis);  ///< from 1
    void refuse(std::string_view key, std::string_view must);

    const std::optional<Error>& fault() const noexcept { return fault_; }

private:
    const std::string* value(std::string_view key) const;

    const DriverSettings& settings_;
    const char* word_;
    const char* section_;
    std::optional<Error> fault_;
};

/// A row of a driver's own settings. Integers may be 1 to `longest_millis` unless said otherwise.
DriverKey driver_key(std::string name, DriverKey::Kind kind, std::string fallback, std::string about);
DriverKey driver_number(std::string name, std::string fallback, std::int64_t min, std::int64_t max, std::string about);

}  // namespace nebis::driver
