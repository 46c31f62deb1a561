// SPDX-License-Identifier: Apache-2.0
#include "observe/messages.hpp"

#include <algorithm>
#include <utility>

namespace nebis::observe {
namespace {

// A mismatch never says what the first request was, and no text tells whether a key exists for somebody else.
constexpr std::array rows{
    MessageRow{Message::in_progress, "in-progress", "The same request is still being processed; try again shortly.",
               "相同的请求正在处理中，请稍后再试。"},
    MessageRow{Message::outcome_unknown, "outcome-unknown",
               "It is not known yet whether this request took effect; it will not be run again until that is settled.",
               "该请求是否已生效尚不确定，核实之前不会再次执行。"},
    MessageRow{Message::duplicate, "duplicate", "This request was already submitted.",
               "该请求已经提交过，请勿再次提交。"},
    MessageRow{Message::mismatch, "mismatch", "This idempotency key was already used for a different request.",
               "该幂等键已用于另一个内容不同的请求。"},
    // Said after `mismatch` to a client whose retry holds the same in other bytes.
    MessageRow{Message::mismatch_multipart, "mismatch-multipart",
               "A multipart body is compared byte by byte, its boundary included: send the very same bytes again.",
               "multipart 请求体按字节比较（包括 boundary），重试时请原样发送。"},
    MessageRow{Message::mismatch_compressed, "mismatch-compressed",
               "A compressed body is compared byte by byte: compress it once and send the very same bytes again.",
               "压缩的请求体按字节比较：请只压缩一次，重试时原样发送。"},
    MessageRow{Message::fenced_off, "fenced-off",
               "Another attempt has taken over this request; repeat it to read the outcome.",
               "该请求已由另一次执行接管，请重新提交以获取结果。"},
    MessageRow{Message::done_not_stored, "done-not-stored", "This request is done; its answer could not be kept.",
               "该请求已经完成，但应答未能保存。"},
    MessageRow{Message::unavailable, "unavailable", "The service can't accept this request now; try again later.",
               "服务暂时无法受理该请求，请稍后再试。"},
    MessageRow{Message::overloaded, "overloaded", "Too many requests are waiting; try again later.",
               "等待处理的请求过多，请稍后再试。"},
    MessageRow{Message::too_many_new_keys, "too-many-new-keys",
               "This caller has made too many new requests; try again later. Earlier requests may be repeated as ever.",
               "该调用方的新请求过多，请稍后再试；已提交过的请求仍可照常重试。"},
    MessageRow{Message::key_missing, "key-missing", "The request needs an idempotency key.", "该请求缺少幂等键。"},
    MessageRow{Message::key_invalid, "key-invalid", "The idempotency key is not valid.", "幂等键格式不正确。"},
    MessageRow{Message::caller_missing, "caller-missing", "The request needs an authenticated caller.",
               "该请求需要先验证调用方身份。"},
    MessageRow{Message::token_unknown, "token-unknown", "The one-time token is not known.", "无法识别该一次性令牌。"},
    MessageRow{Message::token_forged, "token-forged", "The one-time token is not genuine.",
               "该一次性令牌不是有效签发的令牌。"},
    MessageRow{Message::token_foreign, "token-foreign",
               "The one-time token was issued for another caller or operation.",
               "该一次性令牌是为其他调用方或操作签发的。"},
    MessageRow{Message::token_expired, "token-expired", "The one-time token has expired; get a new one.",
               "该一次性令牌已过期，请重新获取。"},
    MessageRow{Message::body_invalid, "body-invalid", "The request can't be read.", "无法解析该请求。"},
    MessageRow{Message::body_too_large, "body-too-large", "The request is too large.", "请求内容过大。"},
    MessageRow{Message::misconfigured, "misconfigured", "The service is misconfigured; the operators must act.",
               "服务配置有误，需要运维人员处理。"},
    MessageRow{Message::corrupt, "corrupt", "The stored record of this request is damaged; the operators must act.",
               "该请求的存储记录已损坏，需要运维人员处理。"},
    MessageRow{Message::internal, "internal", "An internal error occurred; the operators must act.",
               "系统内部错误，需要运维人员处理。"},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (static_cast<std::size_t>(rows[i].message) != i) return false;
    }
    return true;
}
static_assert(in_order() && rows.size() == static_cast<std::size_t>(Message::internal) + 1);

}  // namespace

std::span<const MessageRow> message_table() noexcept { return rows; }

std::string_view id(Message message) noexcept { return rows[static_cast<std::size_t>(message)].id; }

std::optional<Message> message_of(std::string_view id) noexcept {
    const auto row = std::ranges::find(rows, id, &MessageRow::id);
    if (row == rows.end()) return std::nullopt;
    return row->message;
}

Messages::Messages(Language language, std::map<std::string, std::string> overrides) {
    for (const auto& row : rows)
        texts_[static_cast<std::size_t>(row.message)] = language == Language::zh ? row.zh : row.en;
    for (auto& [name, text] : overrides) {
        if (const auto message = message_of(name)) texts_[static_cast<std::size_t>(*message)] = std::move(text);
    }
}

std::string_view Messages::text(Message message) const noexcept { return texts_[static_cast<std::size_t>(message)]; }

std::string_view Messages::text(std::string_view id, std::string_view otherwise) const noexcept {
    const auto message = message_of(id);
    return message ? text(*message) : otherwise;
}

}  // namespace nebis::observe
