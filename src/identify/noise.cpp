// SPDX-License-Identifier: Apache-2.0
#include "identify/noise.hpp"

#include "identify/pointer.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace nebis::identify {

Result<NoiseFilter> NoiseFilter::make(std::span<const std::string> pointers) {
    NoiseFilter filter;
    for (const std::string& pointer : pointers) {
        auto segments = split_pointer(pointer);
        if (!segments) return std::move(segments).error();
        if (segments->empty()) {
            return Error(ErrorKind::misconfigured, "a noise path is empty: it would leave out the whole body", {},
                         "name a member, as in /clientRequestTime");
        }
        filter.paths_.push_back(std::move(*segments));
    }
    if (filter.paths_.size() > max_paths) {
        return Error(ErrorKind::misconfigured,
                     "more than " + std::to_string(max_paths) + " noise paths for one operation", {},
                     "use * for a level of the path, as in /items/*/timestamp");
    }
    if (!filter.paths_.empty()) filter.root_ = ~Candidates{0} >> (max_paths - filter.paths_.size());
    for (std::size_t path = 0; path < filter.paths_.size(); ++path) {
        const auto& segments = filter.paths_[path];
        filter.by_first_.resize(std::max(filter.by_first_.size(), segments.size() * 256));
        for (std::size_t depth = 0; depth < segments.size(); ++depth) {
            for (int first = 0; first < 256; ++first) {
                if (segments[depth] != "*" && first_byte(segments[depth]) != first) continue;
                filter.by_first(depth, static_cast<unsigned char>(first)) |= Candidates{1} << path;
            }
        }
    }
    return filter;
}

template <class Matches>
NoiseFilter::Step NoiseFilter::step(Candidates candidates, std::size_t depth, Matches matches) const noexcept {
    Step result;
    for (; candidates != 0; candidates &= candidates - 1) {
        const auto& path = paths_[static_cast<std::size_t>(std::countr_zero(candidates))];
        if (path[depth] != "*" && !matches(path[depth])) continue;
        if (path.size() == depth + 1) {
            result.noise = true;
            return result;
        }
        result.inside |= candidates & -candidates;
    }
    return result;
}

NoiseFilter::Step NoiseFilter::fitting(Candidates candidates, std::size_t depth, std::string_view name) const noexcept {
    return step(candidates, depth, [name](const std::string& segment) { return segment == name; });
}

NoiseFilter::Step NoiseFilter::element(Candidates candidates, std::size_t depth, std::size_t index) const noexcept {
    if (candidates == 0) return {};
    const std::string text = std::to_string(index);
    return step(candidates, depth, [&text](const std::string& segment) { return segment == text; });
}

std::span<const std::string_view> default_noise_names() noexcept {
    static constexpr std::array<std::string_view, 6> names{"clientRequestTime", "requestTime", "timestamp", "nonce",
                                                           "traceId",           "requestId"};
    return names;
}

std::vector<std::string> default_noise() {
    std::vector<std::string> pointers;
    for (const std::string_view name : default_noise_names()) pointers.push_back("/" + std::string(name));
    return pointers;
}

}  // namespace nebis::identify
