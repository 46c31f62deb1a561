// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>

#include <nebis/error.hpp>
#include <nebis/http.hpp>

#include <string>

namespace shop {

inline nebis::http::Reply json_reply(int status, const boost::json::value& value) {
    return {status, boost::json::serialize(value) + "\n", {{"Content-Type", "application/json"}}};
}

/// The body as a JSON object. **Errors**: throws `nebis::Rejected`.
inline boost::json::object json_body(const nebis::Request& request) {
    boost::json::error_code code;
    boost::json::value value = boost::json::parse(request.body, code);
    if (code || !value.is_object()) throw nebis::Rejected("the body must be a JSON object", 400);
    return std::move(value.as_object());
}

inline std::string text_member(const boost::json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace shop
