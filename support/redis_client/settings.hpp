// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/redis_options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The keys of a driver that talks to Redis, in the configuration.
namespace nebis::redis {

/// Reads values out of a driver's settings; the first that can't be right is kept.
class SettingsReader {
public:
    /// `section` stands before a key in messages: "lock.", or nothing.
    SettingsReader(const DriverSettings& settings, std::string_view section) : settings_(settings), section_(section) {}

    void text(std::string_view key, std::string& into);
    void flag(std::string_view key, bool& into);
    void number(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& into);
    void millis(std::string_view key, std::int64_t least, std::int64_t most, std::chrono::milliseconds& into);
    /// Everything but what is of the gate alone.
    void servers(Options& into);

    /// **Errors**: `misconfigured`.
    const std::optional<Error>& error() const noexcept { return error_; }

private:
    const std::string* find(std::string_view key) const;
    void fail(std::string_view key, std::string_view must);
    void addresses(std::vector<std::string>& into);
    void topology(Topology& into);
    void credentials(const std::string& before, Credentials& into);

    const DriverSettings& settings_;
    const std::string_view section_;
    std::optional<Error> error_;
};

DriverKey text_key(std::string name, std::string fallback, std::string about);
DriverKey flag_key(std::string name, std::string fallback, std::string about);
DriverKey number_key(std::string name, std::string fallback, std::int64_t min, std::int64_t max, std::string about);

/// Those that `servers` reads, but for the key prefix, which is everybody's.
std::vector<DriverKey> server_keys();

}  // namespace nebis::redis
