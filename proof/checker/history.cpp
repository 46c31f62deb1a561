// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <array>
#include <charconv>

namespace nebis::proof {
namespace {

namespace json = boost::json;

json::value row(const std::optional<RowState>& state) {
    if (!state) return nullptr;
    return json::object{{"status", to_string(state->status)},
                        {"version", state->version},
                        {"owner", state->owner},
                        {"lease_expire_time", state->lease_expire_time},
                        {"expire_time", state->expire_time},
                        {"response_bytes", state->response.size()}};
}

}  // namespace

std::string_view to_string(Said said) noexcept {
    constexpr std::array<std::string_view, 9> words = {
        "success", "rejected", "mismatch", "in_progress", "unknown", "not_executed", "unavailable", "lost", "surprise"};
    return words[static_cast<std::size_t>(said)];
}

std::string logical_id(std::uint64_t number) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    return "~" + std::string(digits.data(), end) + "~";
}

std::vector<std::string_view> logical_ids_in(std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t from = text.find('~'); from != std::string_view::npos; from = text.find('~', from)) {
        const std::size_t end = text.find_first_not_of("0123456789abcdef", from + 1);
        if (end != std::string_view::npos && end > from + 1 && text[end] == '~') {
            found.push_back(text.substr(from, end - from + 1));
            from = end + 1;
        } else {
            ++from;
        }
    }
    return found;
}

std::string to_json(const KeyHistory& history) {
    json::array calls;
    for (const Call& call : history.calls)
        calls.push_back(json::object{{"logical", call.logical},
                                     {"instance", call.instance},
                                     {"sent", call.sent},
                                     {"answered", call.answered},
                                     {"said", to_string(call.said)},
                                     {"replayed", call.replayed},
                                     {"recorded", call.recorded},
                                     {"answer", call.answer}});
    json::array effects;
    for (const Effect& effect : history.effects)
        effects.push_back(json::object{{"logical", effect.logical}, {"token", effect.token}, {"at", effect.at}});
    json::array rows;
    for (const RowChange& change : history.rows)
        rows.push_back(json::object{{"at", change.at}, {"before", row(change.before)}, {"after", row(change.after)}});
    return json::serialize(json::object{{"key", history.key},
                                        {"mode", history.atomic ? "atomic" : "execute"},
                                        {"upstream_faulted", history.upstream_faulted},
                                        {"calls", std::move(calls)},
                                        {"effects", std::move(effects)},
                                        {"rows", std::move(rows)}});
}

}  // namespace nebis::proof
