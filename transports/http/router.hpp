// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/http.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::http {

/// One route. Protected: `operation` and `handler`. Unprotected: `pass`.
struct Route {
    std::string method;
    std::string pattern;
    std::vector<std::string> segments;  ///< "{id}" kept as it is written
    Operation operation;
    std::shared_ptr<const Handler> handler;
    std::function<Reply(const Request&)> pass;
    bool at_once = false;  ///< `pass` never blocks: it runs on the I/O thread
    std::size_t body_limit = 0;
};

/// **Threads**: `find` from many once all routes are added. Literal segments win over parameters, from left to right.
class Router {
public:
    /// **Errors**: `misconfigured`: a pattern that isn't normalised, has a parameter twice, or is there already for
    /// that method.
    Result<void> add(Route route);

    struct Found {
        const Route* route = nullptr;    ///< null: see `allowed`
        std::vector<Header> parameters;  ///< decoded
        std::string allowed;             ///< "GET, HEAD, POST": methods of the path; empty: no such path
    };
    Found find(std::string_view method, std::string_view path) const;

    const std::vector<std::shared_ptr<const Route>>& routes() const noexcept { return routes_; }

private:
    std::vector<std::shared_ptr<const Route>> routes_;
};

}  // namespace nebis::http
