// SPDX-License-Identifier: Apache-2.0
// A pretend bank. It believes everybody: two requests are two payments. What it did it writes down at once, so that
// nobody can talk it out of it later.
#include "ledger.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include <charconv>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;

namespace {

using HttpRequest = http::request<http::string_body>;
using HttpResponse = http::response<http::string_body>;
constexpr std::string_view payments = "/payments";

HttpResponse answer(http::status status, const json::value& body) {
    HttpResponse response(status, 11);
    response.set(http::field::content_type, "application/json");
    response.body() = json::serialize(body);
    response.keep_alive(false);
    response.prepare_payload();
    return response;
}

/// POST /payments?mode=…: `hang-up`, `hang-up-before`, `delay:MILLIS`, `error`, `error-after`, `busy`, `refuse`.
std::optional<HttpResponse> pay(shop::Ledger& ledger, const HttpRequest& request, std::string_view mode) {
    if (mode == "hang-up-before") return {};
    if (mode == "error") return answer(http::status::internal_server_error, {{"error", "something broke"}});
    if (mode == "busy") return answer(http::status::service_unavailable, {{"error", "later, please"}});
    if (mode == "refuse") return answer(http::status::payment_required, {{"error", "no cover"}});
    json::error_code code;
    json::value body = json::parse(request.body(), code);
    if (code || !body.is_object()) return answer(http::status::bad_request, {{"error", "no payment"}});
    const auto paid = ledger.pay(std::move(body.as_object()));
    if (!paid) return answer(http::status::conflict, {{"error", "this reference is closed"}});
    if (mode == "hang-up") return {};
    if (mode == "error-after") return answer(http::status::internal_server_error, {{"error", "something broke"}});
    if (mode.starts_with("delay:")) {
        int millis = 0;
        std::from_chars(mode.data() + 6, mode.data() + mode.size(), millis);
        std::this_thread::sleep_for(std::chrono::milliseconds(std::min(millis, 10'000)));
    }
    return answer(http::status::created, *paid);
}

/// Nothing: hang up.
std::optional<HttpResponse> handle(shop::Ledger& ledger, const HttpRequest& request) {
    std::string_view target(request.target().data(), request.target().size());
    std::string_view mode;
    if (const auto query = target.find("?mode="); query != target.npos) {
        mode = target.substr(query + 6);
        target = target.substr(0, query);
    }
    const bool post = request.method() == http::verb::post;
    if (!target.starts_with(payments)) return answer(http::status::not_found, {{"error", "what is that?"}});
    target.remove_prefix(payments.size());
    if (target.empty()) return post ? pay(ledger, request, mode) : answer(http::status::ok, ledger.all());
    target.remove_prefix(1);
    if (post && target.ends_with("/close")) {
        target.remove_suffix(6);
        const auto paid = ledger.close(std::string(target));
        return paid ? answer(http::status::ok, *paid) : answer(http::status::gone, {{"state", "closed"}});
    }
    const auto paid = ledger.find(std::string(target));
    return paid ? answer(http::status::ok, *paid) : answer(http::status::not_found, {{"error", "never heard of it"}});
}

void converse(asio::ip::tcp::socket socket, shop::Ledger& ledger) {
    beast::error_code code;
    beast::flat_buffer buffer;
    HttpRequest request;
    http::read(socket, buffer, request, code);
    if (code) return;
    if (auto response = handle(ledger, request)) {
        http::write(socket, *response, code);
        socket.shutdown(asio::ip::tcp::socket::shutdown_send, code);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::string ledger_file;
    std::uint16_t port = 8081;
    CLI::App app(
        "Examples:\n"
        "  nebis-flaky-bank\n"
        "  nebis-flaky-bank --port 0 --ledger /tmp/ledger.txt\n"
        "  curl -X POST 'localhost:8081/payments?mode=hang-up' -d '{\"reference\":\"r1\",\"amount\":\"1\"}'\n"
        "\n"
        "A bank that misbehaves on request, for the order service.\n",
        "nebis-flaky-bank");
    app.add_option("--port", port, "on 127.0.0.1; 0 takes a free one")->capture_default_str();
    app.add_option("--ledger", ledger_file, "file that every payment is appended to, synced before it is answered");
    CLI11_PARSE(app, argc, argv);
    try {
        shop::Ledger ledger(ledger_file);
        asio::io_context io;
        asio::ip::tcp::acceptor door(io, {asio::ip::make_address_v4("127.0.0.1"), port});
        std::cout << "listening on http://127.0.0.1:" << door.local_endpoint().port() << std::endl;
        for (;;) std::thread(converse, door.accept(), std::ref(ledger)).detach();
    } catch (const std::exception& error) {
        std::cerr << "nebis-flaky-bank: " << error.what() << '\n';
        return 1;
    }
}
