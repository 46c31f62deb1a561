// SPDX-License-Identifier: Apache-2.0
#include "http_target.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>

namespace nebis::torture {
namespace {

/// Status, headers that must be equal in replays, body.
std::string comparable(const shop::CallReply& reply) {
    std::string text = std::to_string(reply.status) + "\n";
    for (const auto& [name, value] : reply.headers) {
        constexpr std::string_view different[] = {"Date", "Connection", "Idempotency-Replayed", "Retry-After",
                                                  "X-Request-Id"};
        if (std::find(std::begin(different), std::end(different), name) == std::end(different))
            text += name + ": " + value + "\n";
    }
    return text + "\n" + reply.body;
}

std::string problem_word(const shop::CallReply& reply) {
    boost::json::error_code code;
    const auto body = boost::json::parse(reply.body, code);
    if (code || !body.is_object()) return {};
    const auto* type = body.get_object().if_contains("type");
    if (type == nullptr || !type->is_string()) return {};
    const std::string_view text(type->get_string());
    return std::string(text.substr(text.rfind(':') + 1));
}

}  // namespace

proof::Said meaning(const shop::CallReply& reply, bool order) {
    using proof::Said;
    if (reply.status == 201) return Said::success;
    const std::string word = problem_word(reply);
    if (word == "rejected") return order ? Said::surprise : Said::rejected;
    if (word == "mismatch") return Said::mismatch;
    if (word == "in-progress") return Said::in_progress;
    if (word == "outcome-unknown") return Said::unknown;
    if (word == "not-executed") return Said::not_executed;
    if (word == "unavailable" || word == "overloaded" || word == "fenced-off") return Said::unavailable;
    // An order whose transaction failed was rolled back; it may be tried again.
    if (word == "handler-failed" && order) return Said::unavailable;
    return Said::surprise;
}

proof::Call HttpTarget::ask(const Ask& ask) {
    shop::Endpoint to;
    {
        const std::lock_guard lock(mutex_);
        to = endpoints_.at(static_cast<std::size_t>(ask.instance));
    }
    shop::Headers headers = {{"Idempotency-Key", "\"" + ask.key + "\""}, {"Content-Type", "application/json"}};
    if (!ask.bank_mode.empty()) headers.emplace_back("X-Bank-Mode", ask.bank_mode);
    const std::string body = ask.order ? R"({"item":"tea","quantity":1,"note":")" + ask.logical + "\"}"
                                       : R"({"amount":"9.90","to":"tea shop","note":")" + ask.logical + "\"}";
    proof::Call call;
    call.logical = ask.logical;
    call.instance = ask.instance;
    call.sent = now_micros();
    const auto result = shop::call(to, "POST", ask.order ? "/orders" : "/payments", headers, body, ask.patience);
    call.answered = now_micros();
    if (result.reply) {
        call.said = meaning(*result.reply, ask.order);
        call.replayed = result.reply->header("Idempotency-Replayed") == "true";
        call.recorded = result.reply->header("Idempotency-Status") != "not-recorded";
        call.answer = comparable(*result.reply);
    }
    return call;
}

void HttpTarget::moved(int instance, const shop::Endpoint& to) {
    const std::lock_guard lock(mutex_);
    endpoints_.at(static_cast<std::size_t>(instance)) = to;
}

}  // namespace nebis::torture
