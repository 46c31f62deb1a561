// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <charconv>
#include <stdexcept>

namespace shop {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

Endpoint Endpoint::parse(std::string_view text) {
    const auto colon = text.rfind(':');
    Endpoint endpoint;
    if (colon != std::string_view::npos) {
        endpoint.host = text.substr(0, colon);
        const auto digits = text.substr(colon + 1);
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
        if (code == std::errc{} && end == digits.data() + digits.size()) return endpoint;
    }
    throw std::invalid_argument("'" + std::string(text) + "' is not like 127.0.0.1:8080");
}

std::string_view CallReply::header(std::string_view name) const noexcept {
    for (const auto& [known, value] : headers)
        if (beast::iequals(known, name)) return value;
    return {};
}

CallResult call(const Endpoint& to, std::string_view method, const std::string& target, const Headers& headers,
                std::string body, std::chrono::milliseconds timeout) {
    CallResult result;
    beast::error_code code;
    const auto address = asio::ip::make_address(to.host, code);
    if (code) return {{}, false, to.host + " is not an address"};

    http::request<http::string_body> request;
    request.method_string({method.data(), method.size()});
    request.target(target);
    request.set(http::field::host, to.host + ":" + std::to_string(to.port));
    for (const auto& [name, value] : headers) request.insert(name, value);
    request.keep_alive(false);
    request.body() = std::move(body);
    request.prepare_payload();

    asio::io_context io(1);
    beast::tcp_stream stream(io);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    stream.expires_after(timeout);  // for everything together
    const auto failed = [&] {
        io.restart();
        io.run();
        if (code) result.why = code.message();
        return code.failed();
    };
    stream.async_connect({address, to.port}, [&](beast::error_code e) { code = e; });
    if (failed()) return result;
    result.sent = true;
    http::async_write(stream, request, [&](beast::error_code e, std::size_t) { code = e; });
    if (failed()) return result;
    http::async_read(stream, buffer, response, [&](beast::error_code e, std::size_t) { code = e; });
    if (failed()) return result;

    CallReply reply{static_cast<int>(response.result_int()), {}, std::move(response.body())};
    for (const auto& field : response.base())
        reply.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    result.reply = std::move(reply);
    return result;
}

}  // namespace shop
