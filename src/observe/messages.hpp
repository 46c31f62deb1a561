// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The one catalogue of messages that callers see (S63): titles of problem documents, texts of RepeatSubmitException
/// and of the default answers of `duplicate-handler: return`. In English and Chinese; overridable once for all
/// operations by `messages.overrides.<id>`.
namespace nebis::observe {

enum class Message : std::uint8_t {
    in_progress,
    outcome_unknown,
    duplicate,
    mismatch,
    mismatch_multipart,
    mismatch_compressed,
    fenced_off,
    done_not_stored,
    unavailable,
    overloaded,
    too_many_new_keys,
    key_missing,
    key_invalid,
    caller_missing,
    token_unknown,
    token_forged,
    token_foreign,
    token_expired,
    body_invalid,
    body_too_large,
    misconfigured,
    corrupt,
    internal,
};

enum class Language : std::uint8_t { en, zh };

/// One row of the catalogue. `id` never changes: it is the last part of the problem type, the `code()` of the error,
/// and the key under `messages.overrides`.
struct MessageRow {
    Message message;
    std::string_view id;
    std::string_view en;
    std::string_view zh;
};

std::span<const MessageRow> message_table() noexcept;

/// The id of a message ("in-progress").
std::string_view id(Message message) noexcept;
/// The message of an id; empty when there is none.
std::optional<Message> message_of(std::string_view id) noexcept;

/// The catalogue in one language with the overrides of the settings. **Threads**: const use from any thread.
/// **Lifetime**: views live as long as it.
class Messages {
public:
    explicit Messages(Language language = Language::en, std::map<std::string, std::string> overrides = {});

    std::string_view text(Message message) const noexcept;
    /// By id or error code; `otherwise` for one that isn't in the catalogue.
    std::string_view text(std::string_view id, std::string_view otherwise) const noexcept;

private:
    static constexpr std::size_t count = static_cast<std::size_t>(Message::internal) + 1;
    std::array<std::string, count> texts_;
};

}  // namespace nebis::observe
