// SPDX-License-Identifier: Apache-2.0
#include "router.hpp"

#include "path.hpp"

#include <algorithm>

namespace nebis::http {

namespace {

bool parameter(std::string_view segment) noexcept {
    return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

std::vector<std::string> segments_of(std::string_view path) {
    std::vector<std::string> segments;
    if (path == "/") return segments;
    while (!path.empty()) {
        path.remove_prefix(1);
        const auto end = std::min(path.find('/'), path.size());
        segments.emplace_back(path.substr(0, end));
        path.remove_prefix(end);
    }
    return segments;
}

/// The next segment of `path`, which is cut off it.
std::string_view next(std::string_view& path) noexcept {
    path.remove_prefix(1);
    const auto end = std::min(path.find('/'), path.size());
    const auto segment = path.substr(0, end);
    path.remove_prefix(end);
    return segment;
}

bool fits(const Route& route, std::string_view path) noexcept {
    if (path == "/") return route.segments.empty();
    for (const auto& segment : route.segments) {
        if (path.empty()) return false;
        const auto given = next(path);
        if (!parameter(segment) && segment != given) return false;
    }
    return path.empty();
}

/// Whether `left` is the more literal of two patterns that fit the same path.
bool before(const Route& left, const Route& right) noexcept {
    return std::lexicographical_compare(left.segments.begin(), left.segments.end(), right.segments.begin(),
                                        right.segments.end(),
                                        [](const auto& a, const auto& b) { return !parameter(a) && parameter(b); });
}

bool same_shape(const Route& left, const Route& right) noexcept {
    return std::equal(left.segments.begin(), left.segments.end(), right.segments.begin(), right.segments.end(),
                      [](const auto& a, const auto& b) { return (parameter(a) && parameter(b)) || a == b; });
}

Error misconfigured(const Route& route, const std::string& why) {
    return Error(ErrorKind::misconfigured, "route '" + route.method + ' ' + route.pattern + "' " + why);
}

}  // namespace

Result<void> Router::add(Route route) {
    if (route.pattern.empty() || route.pattern.front() != '/') return misconfigured(route, "must begin with '/'");
    route.segments = segments_of(route.pattern);
    std::string sample;  // the pattern with its parameters filled must be its own normal form
    for (auto segment = route.segments.begin(); segment != route.segments.end(); ++segment) {
        if (parameter(*segment) && std::find(route.segments.begin(), segment, *segment) != segment)
            return misconfigured(route, "has the parameter " + *segment + " twice");
        sample += '/' + (parameter(*segment) ? std::string("x") : *segment);
    }
    const auto normal = parse_target(sample.empty() ? "/" : sample);
    if (!normal || normal->path != (sample.empty() ? "/" : sample) || !normal->query.empty())
        return misconfigured(route, "isn't in normal form, so no request could meet it");
    for (const auto& other : routes_)
        if (other->method == route.method && same_shape(*other, route))
            return misconfigured(route, "is there already as '" + other->pattern + "'");
    const auto place =
        std::find_if(routes_.begin(), routes_.end(), [&](const auto& other) { return before(route, *other); });
    routes_.insert(place, std::make_shared<const Route>(std::move(route)));
    return {};
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
    Found found;
    const Route* to_get = nullptr;
    bool get = false;
    bool head = false;
    for (const auto& route : routes_) {
        if (!fits(*route, path)) continue;
        if (route->method == method) {
            found.route = route.get();
            break;
        }
        if (route->method == "GET") get = true, to_get = to_get != nullptr ? to_get : route.get();
        if (route->method == "HEAD") head = true;
        if (found.allowed.find(route->method) == std::string::npos)
            found.allowed += (found.allowed.empty() ? "" : ", ") + route->method;
    }
    if (found.route == nullptr && method == "HEAD") found.route = to_get;
    if (found.route == nullptr) {
        if (get && !head) found.allowed += ", HEAD";
        if (!found.allowed.empty()) found.allowed += ", OPTIONS";
        return found;
    }
    std::string_view rest = path;
    for (const auto& segment : found.route->segments) {
        const auto given = next(rest);
        if (parameter(segment)) found.parameters.push_back({segment.substr(1, segment.size() - 2), unescaped(given)});
    }
    return found;
}

}  // namespace nebis::http
