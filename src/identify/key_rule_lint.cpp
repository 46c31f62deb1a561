// SPDX-License-Identifier: Apache-2.0
#include "identify/key_rule_lint.hpp"

#include "identify/pointer.hpp"
#include "identify/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace nebis::identify {
namespace {

/// Words that name what differs from one try to the next.
constexpr std::array<std::string_view, 14> unstable_words{"time",    "timestamp", "ts",   "date",     "now",
                                                          "nonce",   "random",    "rand", "trace",    "span",
                                                          "traceid", "salt",      "sign", "signature"};

/// The words of clientRequestTime, client_request_time and client-request-time, in lower case.
std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    bool after_small = false;
    for (const char c : name) {
        const bool letter = lower(c) >= 'a' && lower(c) <= 'z';
        if (!letter) {
            words.emplace_back();
            after_small = false;
            continue;
        }
        if (c != lower(c) && after_small) words.emplace_back();
        after_small = c == lower(c);
        words.back().push_back(lower(c));
    }
    return words;
}

bool looks_unstable(std::string_view name) {
    constexpr std::string_view request_id = "requestid";
    std::string letters;
    for (const auto& word : words_of(name)) {
        if (std::find(unstable_words.begin(), unstable_words.end(), word) != unstable_words.end()) return true;
        letters += word;
    }
    return letters == request_id || letters == "xrequestid" || letters == "traceparent" || letters == "correlationid";
}

void warn_about(std::vector<std::string>& warnings, std::string_view what, std::string_view name) {
    if (!looks_unstable(name)) return;
    std::string warning = "the key rule has the ";
    warning.append(what).append(" \"").append(name).append(
        "\", which looks like it changes with each retry: then nothing is ever a duplicate");
    warnings.push_back(std::move(warning));
}

}  // namespace

std::vector<std::string> lint_key_rule(const KeyRule& rule, const std::vector<std::string>& members) {
    std::vector<std::string> warnings;
    if (rule.kind() == KeyRule::Kind::header) warn_about(warnings, "header", rule.text());
    for (const std::string& member : members) warn_about(warnings, "field", member);
    if (rule.kind() == KeyRule::Kind::fields || rule.kind() == KeyRule::Kind::automatic) {
        for (const std::string& pointer : rule.fields()) {
            const auto path = split_pointer(pointer);
            if (path && !path->empty()) warn_about(warnings, "field", path->back());
        }
    }
    return warnings;
}

std::string missing_key_text(const KeyRule& rule) {
    switch (rule.kind()) {
        case KeyRule::Kind::header:
            return "the request lacks the header " + rule.text() + ", which carries its idempotency key";
        case KeyRule::Kind::token: return "the request lacks its one-time token (header " + rule.text() + ")";
        case KeyRule::Kind::automatic:
            return "the request has neither an Idempotency-Key header nor anything else that would identify it";
        default: return "the request has no parameter that would identify it";
    }
}

}  // namespace nebis::identify
