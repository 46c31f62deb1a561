// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/asio.hpp"
#include "nebis/http.hpp"

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

/// For programs that have a Boost.Beast server already: from Beast's request to ours, from our response to Beast's, and
/// the call between them as an Asio operation. `examples/04_asio_coroutine` is a whole server.
namespace nebis::http::beast {

/// The strings of this message as a Request; the body moves. **Errors**: as `request_from`.
template <class Fields>
Result<Request> to_request(boost::beast::http::request<boost::beast::http::string_body, Fields>&& message) {
    std::vector<Header> headers;
    for (const auto& field : message.base())
        headers.push_back({std::string(field.name_string()), std::string(field.value())});
    const auto method = std::string(message.method_string());
    const auto target = std::string(message.target());
    return request_from(method, target, message.version(), std::move(headers), std::move(message.body()));
}

/// The message to write; framing and `Connection` are set. `to_head`: the request was a HEAD, so that the body stays
/// here.
inline boost::beast::http::response<boost::beast::http::string_body> to_message(Response response, unsigned version,
                                                                                bool keep_alive, bool to_head = false) {
    boost::beast::http::response<boost::beast::http::string_body> message;
    message.version(version);
    message.result(static_cast<unsigned>(response.status));
    for (const auto& header : response.headers) message.insert(header.name, header.value);
    message.keep_alive(keep_alive);
    const bool bodyless = response.status == 204 || response.status == 304;
    if (!bodyless) message.content_length(response.body.size());
    if (!bodyless && !to_head) message.body() = std::move(response.body);
    return message;
}

/// A protected route of such a program: operation, handler and presentation, set up once.
class Protected {
public:
    /// `handler` as for `Server::post`. **Errors**: throws what `Engine::operation` answers.
    template <class Fn>
    Protected(Engine engine, const Policy& policy, Fn handler, Presentation presentation = {})
        : engine_(std::move(engine)),
          operation_(engine_.operation(policy).value()),
          handler_(std::make_shared<const Handler>(detail::handler_of(std::move(handler)))),
          presentation_(std::make_shared<const Presentation>(std::move(presentation))) {}

    /// Runs the request through the engine; the completion handler gets the Response on its own executor. The handler
    /// runs on `handlers`. `gone` fires when the client has left: a duplicate that waits then stops waiting.
    template <class Token>
    auto async_answer(Request request, Executor& handlers, Token&& token, std::stop_token gone = {}) const {
        return boost::asio::async_initiate<Token, void(Response)>(
            [](auto completion, Protected route, Request asked, Executor* on, std::stop_token left) {
                auto resume = nebis::detail::resumer<decltype(completion), Response>(std::move(completion));
                Exchange exchange(route.presentation_);
                AsyncOptions options{.answers = &inline_executor(), .caller_gone = std::move(left)};
                route.engine_.run_async(
                    route.operation_, std::move(asked), exchange.wrap(route.handler_), *on, std::move(options),
                    [exchange, resume](Answer answer) mutable { resume(exchange.respond(std::move(answer))); });
            },
            token, *this, std::move(request), &handlers, std::move(gone));
    }

    const Operation& operation() const noexcept { return operation_; }
    const Presentation& presentation() const noexcept { return *presentation_; }

private:
    Engine engine_;
    Operation operation_;
    std::shared_ptr<const Handler> handler_;
    std::shared_ptr<const Presentation> presentation_;
};

}  // namespace nebis::http::beast
