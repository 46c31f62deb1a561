// SPDX-License-Identifier: Apache-2.0
#include "identify/body.hpp"

#include "identify/text.hpp"

#include <algorithm>

namespace nebis::identify {
namespace {

BodyKind kind_of(const Request& request, const HashLimits& limits) {
    if (request.body.empty()) return BodyKind::empty;
    if (limits.raw_bodies) return BodyKind::raw;
    if (is_compressed(request)) return BodyKind::raw;  // neither JSON nor a form
    const std::string_view type = media_type(request.content_type);
    if (is_json(type) || (request.arguments && type.empty())) return BodyKind::json;
    return is_form(type) ? BodyKind::form : BodyKind::raw;
}

}  // namespace

std::string_view media_type(std::string_view content_type) noexcept {
    return trim(content_type.substr(0, content_type.find(';')));
}

std::string_view media_parameter(std::string_view content_type, std::string_view name) noexcept {
    next_piece(content_type, ';');
    while (!content_type.empty()) {
        std::string_view value = next_piece(content_type, ';');
        if (!equal_ignoring_case(trim(next_piece(value, '=')), name)) continue;
        value = trim(value);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
        return value;
    }
    return {};
}

bool is_json(std::string_view type) noexcept {
    constexpr std::string_view suffix = "+json";
    return equal_ignoring_case(type, "application/json") || equal_ignoring_case(type, "text/json") ||
           (type.size() > suffix.size() && equal_ignoring_case(type.substr(type.size() - suffix.size()), suffix));
}

bool is_form(std::string_view type) noexcept { return equal_ignoring_case(type, "application/x-www-form-urlencoded"); }

bool is_multipart(std::string_view type) noexcept {
    constexpr std::string_view front = "multipart/";
    return equal_ignoring_case(type.substr(0, front.size()), front);
}

bool is_compressed(const Request& request) noexcept {
    return std::ranges::any_of(request.headers, [](const Header& header) {
        return equal_ignoring_case(header.name, "content-encoding") &&
               !equal_ignoring_case(trim(header.value), "identity");
    });
}

Body::Body(const Request& request, const HashLimits& limits)
    : request_(request), limits_(limits), kind_(kind_of(request, limits)) {}

Result<const JsonTape*> Body::document() {
    if (!parsed_) {
        auto result = is_form(media_type(request_.content_type)) ? tape_->parse_form(request_.body, limits_)
                                                                 : tape_->parse_json(request_.body, limits_);
        if (!result) return std::move(result).error();
        parsed_ = true;
    }
    return &*tape_;
}

Result<std::string> Body::text(std::span<const std::string> path, std::string_view pointer) {
    const auto refuse = [pointer](const char* code, std::string_view why) {
        std::string message = "the body's \"";
        message.append(pointer).append("\" ").append(why);
        return Error(ErrorKind::rejected_input, std::move(message)).with_code(code);
    };
    if (request_.body.empty()) return refuse("key-missing", "is absent: there is no body");
    const auto parsed = document();
    if (!parsed) return refuse("body-invalid", "can't be read: " + parsed.error().message());
    const JsonTape& tape = **parsed;
    std::uint32_t index = 0;
    for (const std::string& segment : path) {
        const auto child = tape.child(index, segment);
        if (!child) return refuse("body-invalid", "is there twice");
        if (*child == 0) return refuse("key-missing", "is absent");
        index = *child;
    }
    const JsonNode& node = tape[index];
    if (node.kind == JsonKind::null) return refuse("key-missing", "is null");
    if (node.kind == JsonKind::array) return refuse("key-invalid", "is an array, not a single value");
    if (node.kind == JsonKind::object) return refuse("key-invalid", "is an object, not a single value");
    std::string text;
    if (!append_scalar(text, node, limits_.numbers)) return refuse("key-invalid", "is a number with too many digits");
    return text;
}

}  // namespace nebis::identify
