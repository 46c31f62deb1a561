// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nebis {

/// One header line or form field, bytes as they came. Order and repeats are kept.
struct Header {
    std::string name;
    std::string value;
    friend bool operator==(const Header&, const Header&) = default;
};

/// One business request as the identify step sees it, whatever brought it: a function call, an HTTP request, a message.
///
/// A plain value; adapters fill it. **Threads**: a const Request may be read from many threads.
/// For a function call `body` is a JSON object with one member for each argument, named as `nebis::args(…)` names them,
/// and `arguments` is true: then the key expression's `#name` is the argument of that name. Otherwise `#request` and
/// `#body` are the body's JSON, `#headers['name']`, `#query['name']`, `#parameters['name']`, `#path`, `#method`,
/// `#principal` and `#tenant` the rest.
struct Request {
    std::string method = {};              ///< "POST"; empty for calls and messages
    std::string path = {};                ///< normalised route path; empty for calls
    std::string query = {};               ///< raw query text without '?', part of the request hash
    std::string content_type = {};        ///< as received; decides how the body is canonicalised
    std::string body = {};                ///< bytes
    std::vector<Header> headers = {};     ///< names compared without case
    std::string principal = {};           ///< the *verified* caller; empty when there is none
    std::string tenant = {};              ///< the verified tenant; empty when there is none
    std::string request_id = {};          ///< X-Request-Id: passed through, for tracing, never identity
    bool arguments = false;               ///< body is the JSON object of a function call's arguments
    std::vector<Header> parameters = {};  ///< of the route's template, decoded: "id" of /orders/{id}; the path says the
                                          ///< same to the request hash

    /// The route parameter of that name; empty when the route has none such.
    std::string_view parameter(std::string_view name) const noexcept {
        for (const auto& one : parameters)
            if (one.name == name) return one.value;
        return {};
    }

    /// The single header of that name (no case). Empty pointer when absent.
    /// **Errors**: `rejected_input` when the header is there more than once.
    Result<const std::string*> header(std::string_view name) const;

    /// The scalar at a JSON pointer ("/bizSeqNo") of the body as text: strings unescaped, numbers as their canonical
    /// decimal text, true and false as such. **Errors**: `rejected_input` naming the pointer when absent, null, object,
    /// array, or the body isn't JSON.
    Result<std::string> text(std::string_view json_pointer) const;
};

}  // namespace nebis
