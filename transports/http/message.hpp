// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "path.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What is strict about our HTTP/1.1, beyond what the parser refuses. Source: RFC 9112; the spellings that let proxies
/// and servers disagree about where a request ends (request smuggling) are all refused.
namespace nebis::http {

/// Why the wire refuses: the word of a problem type and a sentence.
struct Fault {
    std::string_view word;
    std::string detail;
};

struct HeadLimits {
    std::size_t max_bytes = 16 * 1024;
    std::size_t max_lines = 100;
    std::size_t max_target = 8 * 1024;
};

/// Finds the end of a request head in bytes as they come, before any parser sees them, and refuses what parsers read in
/// different ways: bare LF and CR, folded lines, a blank before the first header, NUL.
class HeadScanner {
public:
    explicit HeadScanner(const HeadLimits& limits) : limits_(limits) {}

    struct Incomplete {};
    using Found =
        std::variant<Incomplete, std::size_t, Fault>;  ///< the size_t: length of the head, its empty line included
    /// `bytes`: all that has come since the head began; each call has the former bytes in front.
    Found scan(std::string_view bytes);

private:
    HeadLimits limits_;
    std::size_t line_start_ = 0;
    std::size_t seen_ = 0;   ///< no line end before this place
    std::size_t lines_ = 0;  ///< complete ones
};

/// A head as the parser read it.
struct Head {
    std::string_view method;  ///< empty when unknown
    std::string_view target;
    unsigned version = 11;
    const std::vector<Header>* headers = nullptr;
};

struct HeadFacts {
    Target target;
    std::optional<std::uint64_t> content_length;
    bool chunked = false;
    bool expects_continue = false;
    std::string content_type;
};

/// **Errors**: the fault to answer.
std::variant<HeadFacts, Fault> check_head(const Head& head);

/// Status line and headers up to the empty line. `Date`, `Content-Length` and `Connection` are written here.
std::string response_head(const Response& response, bool keep_alive, unsigned version);

/// Whether a response of that status to that method has a body on the wire (B072).
bool has_body(int status, std::string_view method) noexcept;

}  // namespace nebis::http
