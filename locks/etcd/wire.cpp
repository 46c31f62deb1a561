// SPDX-License-Identifier: Apache-2.0
#include "wire.hpp"

#include "base64.hpp"

#include <boost/json.hpp>

#include <charconv>

namespace nebis::etcd {
namespace {

namespace json = boost::json;

constexpr std::size_t deepest = 16;

Error no_reply(std::string_view why) {
    return Error(ErrorKind::maybe_applied, "the reply of etcd can't be understood", std::string(why),
                 "check that `lock.address` names etcd 3.4 or newer, and what stands between")
        .with_code("etcd-reply");
}

// ---- making

std::string number(std::int64_t value) { return std::to_string(value); }

json::object compare(std::string_view key, std::string_view target, std::string_view result, std::string_view field,
                     std::string value) {
    json::object one;
    one["key"] = to_base64(key);
    one["target"] = target;
    one["result"] = result;
    one[field] = std::move(value);
    return one;
}

json::array is_between(std::string_view key, std::string_view low, std::string_view high) {
    json::array both;
    both.push_back(compare(key, "VALUE", "GREATER", "value", to_base64(low)));
    both.push_back(compare(key, "VALUE", "LESS", "value", to_base64(high)));
    return both;
}

json::object put(std::string_view key, std::string_view value, std::int64_t lease) {
    json::object request;
    request["key"] = to_base64(key);
    request["value"] = to_base64(value);
    if (lease == 0)
        request["ignore_lease"] = true;
    else
        request["lease"] = number(lease);
    request["prev_kv"] = true;
    json::object operation;
    operation["request_put"] = std::move(request);
    return operation;
}

json::object look(std::string_view key) {
    json::object request;
    request["key"] = to_base64(key);
    json::object operation;
    operation["request_range"] = std::move(request);
    return operation;
}

std::string txn(json::array compares, json::object then, const json::object* otherwise) {
    json::object body;
    body["compare"] = std::move(compares);
    body["success"] = json::array{std::move(then)};
    if (otherwise) body["failure"] = json::array{*otherwise};
    return json::serialize(body);
}

// ---- reading

std::optional<json::object> object_in(std::string_view body) {
    json::error_code fault;
    json::parse_options options;
    options.max_depth = deepest;
    auto value = json::parse(body, fault, {}, options);
    if (fault || !value.is_object()) return std::nullopt;
    return std::move(value.get_object());
}

/// 0 when left out; empty when it is no number.
std::optional<std::int64_t> integer(const json::object& in, std::string_view name) {
    const auto* const found = in.if_contains(name);
    if (!found) return 0;
    if (const auto* const plain = found->if_int64()) return *plain;
    const auto* const text = found->if_string();
    if (!text) return std::nullopt;
    std::int64_t out = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, fault] = std::from_chars(text->data(), end, out);
    if (fault != std::errc() || stop != end) return std::nullopt;
    return out;
}

std::optional<std::string> bytes(const json::object& in, std::string_view name) {
    const auto* const found = in.if_contains(name);
    if (!found) return std::string();
    const auto* const text = found->if_string();
    return text ? from_base64(std::string_view(text->data(), text->size())) : std::nullopt;
}

const json::object* object_at(const json::object& in, std::string_view name) {
    const auto* const found = in.if_contains(name);
    return found ? found->if_object() : nullptr;
}

Result<std::optional<Kept>> read_kept(const json::value& value, std::string_view key) {
    const auto* const row = value.if_object();
    if (!row) return no_reply("a row is no object");
    const auto name = bytes(*row, "key");
    // A connection that got mixed up must never answer for another key.
    if (!name || *name != key) return no_reply("a row of another key");
    auto content = bytes(*row, "value");
    const auto revision = integer(*row, "mod_revision"), lease = integer(*row, "lease");
    if (!content || !revision || !lease) return no_reply("a row's value, revision or lease");
    return std::optional<Kept>(Kept{*std::move(content), *revision, *lease});
}

/// The one row of a list that may be missing.
Result<std::optional<Kept>> read_only_row(const json::object& in, std::string_view name, std::string_view key) {
    const auto* const found = in.if_contains(name);
    if (!found) return std::optional<Kept>();
    const auto* const rows = found->if_array();
    if (!rows || rows->size() > 1) return no_reply("rows that were not asked for");
    if (rows->empty()) return std::optional<Kept>();
    return read_kept((*rows)[0], key);
}

Result<std::optional<Kept>> read_operation(const json::value& value, std::string_view key) {
    const auto* const operation = value.if_object();
    if (!operation) return no_reply("an operation's reply is no object");
    if (const auto* const found = object_at(*operation, "response_range")) return read_only_row(*found, "kvs", key);
    if (const auto* const gone = object_at(*operation, "response_delete_range"))
        return read_only_row(*gone, "prev_kvs", key);
    if (const auto* const written = object_at(*operation, "response_put")) {
        const auto* const before = written->if_contains("prev_kv");
        return before ? read_kept(*before, key) : std::optional<Kept>();
    }
    return no_reply("an operation's reply of another kind");
}

}  // namespace

std::string grant_body(std::int64_t ttl_seconds) {
    json::object body;
    body["TTL"] = number(ttl_seconds);
    return json::serialize(body);
}

std::string lease_body(std::int64_t lease) {
    json::object body;
    body["ID"] = number(lease);
    return json::serialize(body);
}

std::string login_body(std::string_view name, std::string_view password) {
    json::object body;
    body["name"] = name;
    body["password"] = password;
    return json::serialize(body);
}

std::string put_if_absent(std::string_view key, std::string_view value, std::int64_t lease) {
    json::array absent;
    absent.push_back(compare(key, "CREATE", "EQUAL", "create_revision", "0"));
    const auto otherwise = look(key);
    return txn(std::move(absent), put(key, value, lease), &otherwise);
}

std::string put_if_unchanged(std::string_view key, std::int64_t mod_revision, std::string_view value,
                             std::int64_t lease) {
    json::array unchanged;
    unchanged.push_back(compare(key, "MOD", "EQUAL", "mod_revision", number(mod_revision)));
    const auto otherwise = look(key);
    return txn(std::move(unchanged), put(key, value, lease), &otherwise);
}

std::string put_if_between(std::string_view key, std::string_view low, std::string_view high, std::string_view value,
                           std::int64_t lease) {
    return txn(is_between(key, low, high), put(key, value, lease), nullptr);
}

std::string delete_if_between(std::string_view key, std::string_view low, std::string_view high) {
    json::object request;
    request["key"] = to_base64(key);
    request["prev_kv"] = true;
    json::object operation;
    operation["request_delete_range"] = std::move(request);
    return txn(is_between(key, low, high), std::move(operation), nullptr);
}

Result<TxnReply> read_txn(std::string_view body, std::string_view key) {
    const auto reply = object_in(body);
    // Without its header it may be anything: a mere {} would read as "didn't succeed".
    if (!reply || !object_at(*reply, "header")) return no_reply("not a transaction's");
    TxnReply out;
    if (const auto* const succeeded = reply->if_contains("succeeded")) {
        if (!succeeded->is_bool()) return no_reply("`succeeded` is neither true nor false");
        out.succeeded = succeeded->get_bool();
    }
    const auto* const responses = reply->if_contains("responses");
    if (!responses) {
        if (out.succeeded) return no_reply("a success without the replies of its operations");
        return out;
    }
    const auto* const list = responses->if_array();
    if (!list || list->size() > 1 || (out.succeeded && list->empty()))
        return no_reply("other replies than there were operations");
    if (list->empty()) return out;
    auto kept = read_operation((*list)[0], key);
    if (!kept) return std::move(kept).error();
    out.kept = *std::move(kept);
    return out;
}

Result<std::int64_t> read_lease_id(std::string_view body) {
    const auto reply = object_in(body);
    const auto id = reply ? integer(*reply, "ID") : std::nullopt;
    if (!id || *id == 0) return no_reply("no lease in the reply to a grant");
    return *id;
}

Result<std::int64_t> read_ttl(std::string_view body) {
    // A stream of one reply; each stands in a `result`.
    const auto reply = object_in(body);
    const auto* const result = reply ? object_at(*reply, "result") : nullptr;
    const auto ttl = result ? integer(*result, "TTL") : std::nullopt;
    if (!ttl || *ttl < 0) return no_reply("no time in the reply to a keep-alive");
    return *ttl;
}

Result<std::string> read_token(std::string_view body) {
    const auto reply = object_in(body);
    const auto* const token = reply ? reply->if_contains("token") : nullptr;
    const auto* const text = token ? token->if_string() : nullptr;
    // It goes into a header as it is.
    if (!text || text->empty()) return no_reply("no token in the reply to a log-in");
    for (const char c : *text)
        if (c <= ' ' || c > '~') return no_reply("a token that fits no header");
    return std::string(text->data(), text->size());
}

std::optional<Report> read_report(std::string_view body) {
    const auto reply = object_in(body);
    if (!reply) return std::nullopt;
    // A stream reports its error in an object of its own.
    const auto* error = reply->if_contains("error");
    if (error && error->is_object())
        if (const auto* const inner = error->get_object().if_contains("message")) error = inner;
    const auto* const text = error ? error->if_string() : nullptr;
    if (!text) return std::nullopt;
    Report out;
    out.text.assign(text->data(), text->size());
    out.code = integer(*reply, "code").value_or(0);
    return out;
}

}  // namespace nebis::etcd
