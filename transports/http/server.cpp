// SPDX-License-Identifier: Apache-2.0
#include "nebis/http.hpp"
#include "service.hpp"
#include "wire.hpp"

#include <charconv>
#include <utility>

namespace nebis::http {

namespace {

template <class T>
T setting(const Engine& engine, std::string_view path, T otherwise) {
    const auto text = engine.setting(path);
    T value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

std::chrono::milliseconds millis(const Engine& engine, std::string_view path, std::chrono::milliseconds otherwise) {
    return std::chrono::milliseconds(setting<long long>(engine, path, otherwise.count()));
}

/// What the program says wins over the configuration.
WireOptions wire_options(const Engine& engine, const ServerOptions& options) {
    WireOptions wire;
    wire.listen = options.listen;
    if (wire.listen.empty()) wire.listen = engine.setting("http.listen");
    if (wire.listen.empty()) wire.listen = WireOptions().listen;
    wire.threads = options.threads ? *options.threads : setting(engine, "http.threads", wire.threads);
    wire.max_connections = options.max_connections ? *options.max_connections
                                                   : setting(engine, "http.max-connections", wire.max_connections);
    wire.head.max_bytes = options.max_header_bytes ? *options.max_header_bytes
                                                   : setting(engine, "http.max-header-bytes", wire.head.max_bytes);
    wire.head.max_lines = options.max_headers;
    wire.head.max_target = options.max_target_bytes;
    wire.read_timeout =
        options.read_timeout ? *options.read_timeout : millis(engine, "http.read-timeout-millis", wire.read_timeout);
    wire.idle_timeout =
        options.idle_timeout ? *options.idle_timeout : millis(engine, "http.idle-timeout-millis", wire.idle_timeout);
    wire.write_timeout = options.write_timeout;
    return wire;
}

}  // namespace

class Server::Impl {
public:
    Impl(Engine engine, ServerOptions options)
        : wire_options(http::wire_options(engine, options)),
          service(std::make_shared<Service>(engine, options,
                                            std::make_shared<const Presentation>(presentation_from(engine, options)))),
          wire(service, wire_options) {}

    void add(Route route) {
        if (auto added = service->router().add(std::move(route)); !added)
            throw IdempotentException(std::move(added).error());
    }

    WireOptions wire_options;
    std::shared_ptr<Service> service;
    Wire wire;
    bool started = false;
};

Server::Server(Engine engine, ServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(engine), std::move(options))) {}

Server::~Server() { stop(); }

Operation Server::protect(std::string_view method, std::string_view route, Policy policy, Handler handler) {
    if (policy.operation.empty()) policy.operation = std::string(method) + ' ' + std::string(route);
    if (handler.later())
        throw IdempotentException(Error(ErrorKind::misconfigured,
                                        "route '" + policy.operation + "' can't have a Handler::later", {},
                                        "answer from the handler itself; it runs on a thread of its own"));
    auto operation = impl_->service->engine().operation(policy).value();
    Route added;
    added.method = std::string(method);
    added.pattern = std::string(route);
    added.operation = operation;
    added.handler = std::make_shared<const Handler>(std::move(handler));
    added.body_limit = operation.max_request_bytes();
    impl_->add(std::move(added));
    return operation;
}

void Server::pass(std::string_view method, std::string_view route, std::function<Reply(const Request&)> handler) {
    Route added;
    added.method = std::string(method);
    added.pattern = std::string(route);
    added.pass = std::move(handler);
    added.body_limit = impl_->service->options().max_body_bytes;
    impl_->add(std::move(added));
}

void Server::metrics(std::string_view route) {
    pass("GET", route, [engine = impl_->service->engine()](const Request&) {
        return Reply{200, engine.metrics(), {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}};
    });
}

void Server::health(std::string_view route) {
    Route added;
    added.method = "GET";
    added.pattern = std::string(route);
    added.at_once = true;
    added.pass = [service = impl_->service.get()](const Request&) {
        const bool stopping = service->stopping();
        return Reply{stopping ? 503 : 200,
                     stopping ? "stopping\n" : "ok\n",
                     {{"Content-Type", "text/plain"}, {"Cache-Control", "no-store"}}};
    };
    impl_->add(std::move(added));
}

Result<void> Server::start() {
    auto& impl = *impl_;
    if (impl.started) return Error(ErrorKind::misconfigured, "the server was started before");
    const auto& page = impl.service->options().documentation_path;
    if (!page.empty() && impl.service->router().find("GET", page).route == nullptr) {
        Route route;
        route.method = "GET";
        route.pattern = page;
        route.at_once = true;
        route.pass = [text = impl.service->documentation()](const Request&) { return text; };
        if (auto added = impl.service->router().add(std::move(route)); !added) return added;
    }
    if (auto listening = impl.wire.start(); !listening) return listening;
    impl.started = true;
    return {};
}

std::uint16_t Server::port() const noexcept { return impl_->wire.port(); }

void Server::run() {
    if (!impl_->started) start().value();
    impl_->wire.wait();
    stop();
}

void Server::stop() {
    const auto began = std::chrono::steady_clock::now();
    const auto drain = impl_->service->options().drain;
    impl_->service->stopping(true);
    impl_->wire.stop(drain);
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    (void)impl_->service->pool().idle_within(std::max(drain - spent, std::chrono::milliseconds(0)));
}

}  // namespace nebis::http
