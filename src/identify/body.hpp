// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/json_tape.hpp"
#include "identify/limits.hpp"
#include "nebis/request.hpp"

#include <string_view>

namespace nebis::identify {

/// How a body enters the request hash.
enum class BodyKind : char { empty = 'e', json = 'j', form = 'f', raw = 'r' };

/// The part of a Content-Type before its parameters, without blanks around it; case as it came.
std::string_view media_type(std::string_view content_type) noexcept;
/// A parameter's value without quotes; empty when absent.
std::string_view media_parameter(std::string_view content_type, std::string_view name) noexcept;
/// application/json, text/json and …+json.
bool is_json(std::string_view media_type) noexcept;
bool is_form(std::string_view media_type) noexcept;
bool is_multipart(std::string_view media_type) noexcept;
/// Content-Encoding says something other than "identity".
bool is_compressed(const Request& request) noexcept;

/// The body of one request, parsed at most once and only if somebody asks.
/// **Lifetime**: views into the request, which must outlive it.
class Body {
public:
    Body(const Request& request, const HashLimits& limits);

    BodyKind kind() const noexcept { return kind_; }
    std::string_view bytes() const noexcept { return request_.body; }
    /// The values inside: form fields for a form, else JSON whatever the content type says (messages often have none).
    /// **Errors**: those of `JsonTape`.
    Result<const JsonTape*> document();
    /// The scalar at a path as text; see `Request::text`. `pointer` is the path as the rule has it, for messages.
    Result<std::string> text(std::span<const std::string> path, std::string_view pointer);

private:
    const Request& request_;
    const HashLimits& limits_;
    BodyKind kind_;
    bool parsed_ = false;
    TapeLease tape_;
};

}  // namespace nebis::identify
