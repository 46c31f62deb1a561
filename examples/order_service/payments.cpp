// SPDX-License-Identifier: Apache-2.0
#include "payments.hpp"

#include "json.hpp"

namespace shop {
namespace {

namespace json = boost::json;

/// Each attempt has a random owner id, and the record keeps it: a name for this very attempt.
std::string reference_of(const nebis::Owner& owner) {
    std::string hex;
    for (const unsigned char byte : owner.bytes) {
        hex.push_back("0123456789abcdef"[byte >> 4]);
        hex.push_back("0123456789abcdef"[byte & 15]);
    }
    return hex;
}

/// What the customer gets; the same whether the bank answered at once or was asked later.
nebis::http::Reply receipt(const std::string& bank_says) {
    const auto paid = json::parse(bank_says).as_object();
    return json_reply(201, {{"payment", paid.at("payment")},
                            {"amount", paid.at("amount")},
                            {"to", paid.at("to")},
                            {"note", paid.at("note")}});
}

}  // namespace

CallResult Bank::ask(std::string_view method, const std::string& target, std::string body) const {
    return call(endpoint_, method, target, {{"Content-Type", "application/json"}}, std::move(body), patience_);
}

nebis::http::Reply Bank::pay(const nebis::Request& request, nebis::Execution& execution) const {
    const json::object payment = json_body(request);
    const std::string amount = text_member(payment, "amount");
    const std::string to = text_member(payment, "to");
    if (amount.empty() || to.empty()) throw nebis::Rejected("a payment needs an amount and a receiver");
    const auto header = request.header("X-Bank-Mode");
    const std::string mode = header && *header != nullptr ? "?mode=" + **header : "";

    execution.check();  // the last moment at which nothing has happened for sure
    const CallResult result = ask("POST", "/payments" + mode,
                                  json::serialize(json::object{{"reference", execution.owner()},
                                                               {"fencing_token", execution.fencing_token()},
                                                               {"amount", amount},
                                                               {"to", to},
                                                               {"note", text_member(payment, "note")}}));
    if (!result.reply) {
        if (!result.sent) throw nebis::NotExecuted("the bank can't be reached: " + result.why);
        throw nebis::OutcomeUnknown("the bank did not answer: " + result.why);
    }
    switch (result.reply->status) {
        case 201: return receipt(result.reply->body);
        case 402: throw nebis::Rejected("the bank refuses: no cover", 402);
        case 409: throw nebis::NotExecuted("this attempt was closed at the bank");
        case 503: throw nebis::NotExecuted("the bank is busy and did nothing");
        default: throw nebis::OutcomeUnknown("the bank answered " + std::to_string(result.reply->status));
    }
}

nebis::Resolution Bank::resolve(const nebis::Record& record, nebis::Deadline) {
    using Kind = nebis::Resolution::Kind;
    const std::string target = "/payments/" + reference_of(record.owner);
    CallResult found = ask("GET", target);
    if (found.reply && found.reply->status == 404) found = ask("POST", target + "/close");
    if (!found.reply) return {Kind::dont_know, {}};
    if (found.reply->status == 410) return {Kind::did_not_happen, {}};
    if (found.reply->status != 200) return {Kind::dont_know, {}};
    nebis::http::Reply reply = receipt(found.reply->body);
    return {Kind::happened, {reply.status, std::move(reply.headers), std::move(reply.body), false}};
}

}  // namespace shop
