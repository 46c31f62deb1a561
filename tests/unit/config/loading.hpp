// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/load.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nebis::config {

/// The keys of `text` under nebis: idempotent:, so that its first line is line 3 and begins in column 5.
inline std::string under_root(const std::string& text) {
    std::string out = "nebis:\n  idempotent:\n";
    for (std::size_t from = 0; from < text.size();) {
        const auto to = std::min(text.find('\n', from), text.size());
        out += "    " + text.substr(from, to - from) + "\n";
        from = to + 1;
    }
    return out;
}

inline Result<Settings> load_keys(const std::string& text, const LoadOptions& options = {}) {
    return load_text(under_root(text), "nebis.yaml", options);
}

/// The settings, or a failed test that says why.
inline Settings loaded(const std::string& text, const LoadOptions& options = {}) {
    auto settings = load_keys(text, options);
    if (settings) return *settings;
    ADD_FAILURE() << settings.error().text();
    return default_settings();
}

/// What a text that must be refused is refused with.
inline std::string refusal_of(const Result<Settings>& settings) {
    if (!settings) {
        EXPECT_EQ(settings.error().kind(), ErrorKind::misconfigured);
        return settings.error().text();
    }
    ADD_FAILURE() << "was taken";
    return {};
}
inline std::string refusal(const std::string& text, const LoadOptions& options = {}) {
    return refusal_of(load_keys(text, options));
}

}  // namespace nebis::config
