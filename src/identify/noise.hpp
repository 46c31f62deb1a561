// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::identify {

/// Which parts of a body don't count (S4): exact JSON pointers, where the segment "*" matches any one member or
/// element. A field of the same name elsewhere is kept: dropping by bare name anywhere would drop business data (C03).
class NoiseFilter {
public:
    /// Positions of the paths that still fit on the way down to some value: a bit for each.
    using Candidates = std::uint64_t;
    static constexpr std::size_t max_paths = 64;

    NoiseFilter() = default;
    /// **Errors**: `misconfigured` for something that is no JSON pointer, for "" (everything), and for too many paths.
    static Result<NoiseFilter> make(std::span<const std::string> pointers);

    Candidates root() const noexcept { return root_; }

    struct Step {
        Candidates inside = 0;  ///< candidates for what lies inside
        bool noise = false;     ///< this very value is left out
    };
    /// Goes `depth` → `depth` + 1, to the member `name` or the element `index`.
    Step member(Candidates candidates, std::size_t depth, std::string_view name) const noexcept {
        if (candidates != 0) candidates &= by_first(depth, first_byte(name));
        return candidates == 0 ? Step{} : fitting(candidates, depth, name);
    }
    Step element(Candidates candidates, std::size_t depth, std::size_t index) const noexcept;

private:
    static unsigned char first_byte(std::string_view name) noexcept {
        return name.empty() ? 0 : static_cast<unsigned char>(name.front());
    }
    Step fitting(Candidates candidates, std::size_t depth, std::string_view name) const noexcept;
    template <class Matches>
    Step step(Candidates candidates, std::size_t depth, Matches matches) const noexcept;

    /// Those that "*" or a segment beginning with this byte keeps at this depth: most names are done with here.
    Candidates& by_first(std::size_t depth, unsigned char first) noexcept { return by_first_[depth * 256 + first]; }
    Candidates by_first(std::size_t depth, unsigned char first) const noexcept {
        return by_first_[depth * 256 + first];
    }

    std::vector<std::vector<std::string>> paths_;
    std::vector<Candidates> by_first_;
    Candidates root_ = 0;
};

/// What is left out unless the settings say otherwise: the client's own clock, its random numbers, and ids for tracing.
/// For function calls they hold inside each argument ("/*/timestamp"), else at the top of the body ("/timestamp").
std::span<const std::string_view> default_noise_names() noexcept;
std::vector<std::string> default_noise();

}  // namespace nebis::identify
