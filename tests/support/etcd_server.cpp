// SPDX-License-Identifier: Apache-2.0
#include "etcd_server.hpp"

#include "base64.hpp"
#include "http.hpp"
#include "wire.hpp"

#include <boost/json.hpp>

namespace nebis::test {

namespace json = boost::json;

etcd::Options EtcdServer::options() const {
    etcd::Options options;
    options.addresses.clear();
    for (const auto& member : members()) options.addresses.push_back(address(member));
    options.connect_timeout = std::chrono::seconds(10);
    return options;
}

std::string EtcdServer::ask(const std::string& path, const std::string& body, const std::string& token) const {
    etcd::HttpClient http(std::make_shared<const etcd::Options>(options()));
    const auto at = etcd::parse_address(address()).value();
    const auto reply = http.post(at, path, body, token, in(std::chrono::seconds(20)));
    if (!reply) throw ServerError(reply.error().text());
    if (reply->status != 200) throw ServerError(path + ": " + reply->body);
    return reply->body;
}

std::string EtcdServer::token(const std::string& user, const std::string& password) const {
    return etcd::read_token(ask("/v3/auth/authenticate", etcd::login_body(user, password))).value();
}

void EtcdServer::put(const std::string& key, const std::string& value) const {
    ask("/v3/kv/put", R"({"key":")" + etcd::to_base64(key) + R"(","value":")" + etcd::to_base64(value) + R"("})");
}

std::int64_t EtcdServer::keys(const std::string& begin) const {
    std::string end = begin;
    ++end.back();
    const auto reply = json::parse(ask("/v3/kv/range", R"({"key":")" + etcd::to_base64(begin) + R"(","range_end":")" +
                                                           etcd::to_base64(end) + R"(","count_only":true})"));
    const auto* const count = reply.as_object().if_contains("count");
    return count ? std::stoll(std::string(count->as_string())) : 0;
}

std::int64_t EtcdServer::leases() const {
    const auto reply = json::parse(ask("/v3/lease/leases", "{}"));
    const auto* const list = reply.as_object().if_contains("leases");
    return list ? static_cast<std::int64_t>(list->as_array().size()) : 0;
}

}  // namespace nebis::test
