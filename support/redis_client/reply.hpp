// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace nebis::redis {

/// What a server said.
struct Reply {
    enum class Kind : std::uint8_t { nil, status, text, error, integer, array };
    Kind kind = Kind::nil;
    std::int64_t integer = 0;
    std::string text;  ///< status, text, error
    std::vector<Reply> elements;
    bool unconfirmed = false;  ///< fewer replicas than asked for had everything up to it (Confirm)

    bool is_error() const noexcept { return kind == Kind::error; }
    /// "MOVED" of "MOVED 42 127.0.0.1:7001"; empty when it is no error.
    std::string_view error_word() const noexcept;
};

/// Bounds against a server that isn't what it should be. All are far above what Redis sends us.
struct ReplyLimits {
    std::size_t depth = 4;                       ///< arrays in arrays
    std::size_t elements = 100'000;              ///< of all arrays of one reply
    std::size_t text_bytes = 16 * 1024 * 1024;   ///< of one text
    std::size_t reply_bytes = 32 * 1024 * 1024;  ///< of one reply on the wire
};

/// Cuts the bytes of a connection into replies: hiredis' parser behind our limits. After an error it is spent.
class ReplyReader {
public:
    explicit ReplyReader(ReplyLimits limits = {});
    ~ReplyReader();
    ReplyReader(ReplyReader&&) noexcept;
    ReplyReader& operator=(ReplyReader&&) noexcept;

    void feed(std::string_view bytes);
    /// Empty: the next reply isn't complete yet. **Errors**: `corrupt`, when this can't be Redis.
    Result<std::optional<Reply>> next();
    /// True when nothing of a further reply has come.
    bool at_rest() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace nebis::redis
