// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/http.hpp"

#include <span>
#include <string>
#include <string_view>

/// Problem types (RFC 9457): one table, from which answers, docs/problems.md and the server's own page are made.
namespace nebis::http {

struct ProblemType {
    std::string_view word;  ///< the end of `type`, and the anchor in the documentation
    int status = 0;         ///< usual status
    std::string_view title;
    std::string_view meaning;  ///< what happened, and what didn't
    std::string_view remedy;   ///< what a client does
};

std::span<const ProblemType> problem_types() noexcept;

/// The type of that word; "internal" when there is none such.
const ProblemType& problem_type(std::string_view word) noexcept;

/// One occurrence.
struct Problem {
    std::string_view word;
    std::string detail = {};      ///< empty: the type's meaning. Never a key, token, or any part of a stored request.
    int status = 0;               ///< 0: the type's
    std::string request_id = {};  ///< becomes `instance` and X-Request-Id; empty: neither
    long long retry_after = 0;    ///< seconds; 0: no Retry-After
    int original_status = 0;      ///< done-not-stored: what the first caller got
};

/// The response: application/problem+json with `type`, `title`, `status`, `detail`, `instance`; Link to the
/// documentation.
Response problem_response(const Problem& problem, const Presentation& presentation);

/// docs/problems.md.
std::string problems_markdown();

/// The same as a page with one anchor for each word; `operations` is HTML that stands before it.
std::string problems_html(std::string_view operations);

std::string html_escaped(std::string_view text);

}  // namespace nebis::http
