// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <source_location>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::conformance {

/// Thrown when a case can't go on.
struct Stop {};

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
    out << value;
};

/// Collects the broken promises of one case.
class Probe {
public:
    void expect(bool kept, std::string_view promise, std::source_location where = std::source_location::current()) {
        if (!kept) note(promise, {}, where);
    }

    template <class A, class B>
    void equal(const A& seen, const B& wanted, std::string_view promise,
               std::source_location where = std::source_location::current()) {
        if (seen == wanted) return;
        std::ostringstream out;
        if constexpr (Printable<A> && Printable<B>) out << "seen " << seen << ", promised " << wanted;
        note(promise, out.str(), where);
    }

    /// The value, or the end of the case.
    template <class T>
    T take(Result<T> result, std::string_view promise, std::source_location where = std::source_location::current()) {
        if (result) return std::move(*result);
        note(promise, result.error().text(), where);
        throw Stop{};
    }
    void take(Result<void> result, std::string_view promise,
              std::source_location where = std::source_location::current()) {
        if (result) return;
        note(promise, result.error().text(), where);
        throw Stop{};
    }

    void require(bool kept, std::string_view promise, std::source_location where = std::source_location::current()) {
        if (kept) return;
        note(promise, {}, where);
        throw Stop{};
    }

    void not_asked(std::string why) {
        not_asked_ = std::move(why);
        throw Stop{};
    }

    std::vector<std::string>& broken() noexcept { return broken_; }
    const std::string& why_not_asked() const noexcept { return not_asked_; }

private:
    void note(std::string_view promise, std::string_view seen, std::source_location where) {
        std::string_view file = where.file_name();
        if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
        std::ostringstream out;
        out << file << ':' << where.line() << ": " << promise;
        if (!seen.empty()) out << " (" << seen << ')';
        broken_.push_back(out.str());
    }
    std::vector<std::string> broken_;
    std::string not_asked_;
};

}  // namespace nebis::conformance
