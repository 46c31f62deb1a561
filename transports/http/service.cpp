// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include "headers.hpp"
#include "problems.hpp"

namespace nebis::http {

namespace {

std::string request_id_of(const Request& request) {
    return request.request_id.empty() ? random_request_id() : request.request_id;
}

/// "a, b" as the configuration joins lists.
std::vector<std::string> items_of(std::string_view text) {
    std::vector<std::string> items;
    while (!text.empty()) {
        const auto comma = text.find(',');
        auto item = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
        while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
        while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
        if (!item.empty()) items.emplace_back(item);
    }
    return items;
}

std::string duration_text(std::chrono::milliseconds time) {
    if (time.count() % 3'600'000 == 0) return std::to_string(time.count() / 3'600'000) + " h";
    if (time.count() % 1'000 == 0) return std::to_string(time.count() / 1'000) + " s";
    return std::to_string(time.count()) + " ms";
}

std::string duplicates_get(OnDuplicate what, const Presentation& presentation) {
    std::string refusal = std::to_string(presentation.in_progress_status) + " with Retry-After";
    switch (what) {
        case OnDuplicate::refuse: return refusal;
        case OnDuplicate::give: return "an answer that says so";
        case OnDuplicate::wait: return "the answer, if it comes soon; else " + refusal;
    }
    return {};
}

}  // namespace

Presentation presentation_from(const Engine& engine, const ServerOptions& options) {
    if (options.presentation) return *options.presentation;
    Presentation presentation;
    presentation.documentation_url = engine.setting("http.documentation-url");
    if (presentation.documentation_url.empty()) presentation.documentation_url = options.documentation_path;
    if (auto name = engine.setting("http.replayed-header"); !name.empty())
        presentation.replayed_header = std::move(name);
    presentation.replay_headers = items_of(engine.setting("http.replay-headers"));
    presentation.in_progress_status = std::stoi(engine.setting("http.in-progress-status"));
    presentation.mismatch_status = std::stoi(engine.setting("http.mismatch-status"));
    return presentation;
}

Service::Service(Engine engine, ServerOptions options, std::shared_ptr<const Presentation> presentation)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      presentation_(std::move(presentation)),
      pool_(options_.handler_threads) {}

Response Service::refuse(std::string_view word, std::string_view detail) {
    return problem_response({.word = word, .detail = std::string(detail), .request_id = random_request_id()},
                            *presentation_);
}

Response Service::refused(std::string_view word, std::string_view detail, const Request& request) const {
    return problem_response({.word = word, .detail = std::string(detail), .request_id = request_id_of(request)},
                            *presentation_);
}

void Service::log(std::string_view line) {
    if (options_.log) options_.log(std::string(line));
}

std::optional<Response> Service::admit(Incoming& incoming) {
    auto& request = incoming.request;
    if (const auto* id = find_header(request.headers, "X-Request-Id")) request.request_id = sane_request_id(id->value);
    if (request.path == "*") return Response{204, {{"X-Request-Id", request_id_of(request)}}, {}, false};  // OPTIONS *
    auto found = router_.find(request.method, request.path);
    if (found.route == nullptr) {
        if (found.allowed.empty()) return refused("not-found", {}, request);
        if (request.method == "OPTIONS") {
            // Preflight requests carry no key and change nothing (B055).
            Response allowed{
                204, {{"Allow", std::move(found.allowed)}, {"X-Request-Id", request_id_of(request)}}, {}, false};
            return allowed;
        }
        auto response = refused("method-not-allowed", {}, request);
        response.headers.push_back({"Allow", std::move(found.allowed)});
        return response;
    }
    const auto& route = *found.route;
    // A proxy behind which the method is another one would let a write slip past its protection (B056).
    for (const auto* name : {"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"})
        if (find_header(request.headers, name) != nullptr)
            return refused("bad-request", std::string(name) + " isn't taken: send the request with its own method",
                           request);
    request.parameters = std::move(found.parameters);
    incoming.route = found.route;
    incoming.body_limit = route.body_limit;
    return std::nullopt;
}

std::optional<Response> Service::identify_caller(Request& request) const {
    if (!options_.principal) return std::nullopt;
    auto found = [&]() -> Result<std::optional<Principal>> {
        try {
            return options_.principal(request);
        } catch (...) {
            return Error(ErrorKind::internal, "the check of the caller failed");
        }
    }();
    if (!found) {
        const auto& error = found.error();
        if (error.code() == "forbidden") return refused("forbidden", error.message(), request);
        if (error.kind() == ErrorKind::internal) return refused("internal", error.message(), request);
        if (error.kind() != ErrorKind::unavailable && error.kind() != ErrorKind::overloaded)
            return refused("unauthenticated", error.message(), request);
        return problem_response(
            {.word = "unavailable", .detail = error.message(), .request_id = request_id_of(request), .retry_after = 1},
            *presentation_);
    }
    if (*found) {
        request.principal = std::move((*found)->name);
        request.tenant = std::move((*found)->tenant);
    }
    return std::nullopt;
}

void Service::serve(Incoming incoming, Answered answered) {
    if (auto refusal = identify_caller(incoming.request)) return answered(std::move(*refusal));
    const auto& route = *incoming.route;
    if (!route.operation) return serve_unprotected(std::move(incoming), std::move(answered));
    Exchange exchange(presentation_);
    auto handler = exchange.wrap(route.handler);
    // The engine answers what it knows at once, on this thread; a handler runs in the pool; a duplicate that waits
    // holds no thread (C39).
    AsyncOptions options{.answers = &inline_executor(), .caller_gone = std::move(incoming.gone)};
    engine_.run_async(route.operation, std::move(incoming.request), std::move(handler), pool_, std::move(options),
                      [self = shared_from_this(), exchange, answered = std::move(answered)](Answer answer) {
                          if (answer.request_id.empty()) answer.request_id = random_request_id();
                          answered(exchange.respond(std::move(answer)));
                      });
}

void Service::serve_unprotected(Incoming incoming, Answered answered) {
    const auto* route = incoming.route;
    if (route->at_once) return answered(passed(*route, incoming.request));
    pool_.post([self = shared_from_this(), route, request = std::move(incoming.request),
                answered = std::move(answered)] { answered(self->passed(*route, request)); });
}

Response Service::passed(const Route& route, const Request& request) const {
    Response response;
    try {
        Reply reply = route.pass(request);
        if (reply.status < 200 || reply.status > 599) throw std::logic_error("not a status");
        response = {reply.status, end_to_end(std::move(reply.headers)), std::move(reply.body), false};
    } catch (const Rejected& refusal) {
        return problem_response({.word = "rejected",
                                 .detail = refusal.what(),
                                 .status = refusal.status(),
                                 .request_id = request_id_of(request)},
                                *presentation_);
    } catch (...) {
        return refused("handler-failed", "The application failed while it answered.", request);
    }
    if (find_header(response.headers, "X-Request-Id") == nullptr)
        response.headers.push_back({"X-Request-Id", request_id_of(request)});
    return response;
}

/// The draft asks a resource to publish its rules: which keys, for how long, and what happens to duplicates.
Reply Service::documentation() const {
    std::string table =
        "<h2>Operations</h2>\n<table><tr><th>Request<th>Operation<th>Key from<th>Remembered for<th>While the first is "
        "in progress, "
        "duplicates get</tr>\n";
    for (const auto& route : router_.routes()) {
        if (!route->operation) continue;
        const auto header = route->operation.key_header();
        table += "<tr><td>" + html_escaped(route->method + ' ' + route->pattern) + "<td>" +
                 html_escaped(route->operation.name()) + "<td>" +
                 (header.empty() ? std::string("the request itself") : "header " + html_escaped(header)) + "<td>" +
                 duration_text(route->operation.retention()) + "<td>" +
                 duplicates_get(route->operation.on_duplicate(), *presentation_) + "</tr>\n";
    }
    table += "</table>\n<p>A repeated request gets the first answer again, with <code>" +
             html_escaped(presentation_->replayed_header) +
             ": true</code>. A key is a quoted string of up to 255 printable ASCII characters; bare text is taken too, "
             "unless the operation is "
             "strict. It belongs to one request: method, path, query, Content-Type and body.</p>\n";
    return {200, problems_html(table), {{"Content-Type", "text/html; charset=utf-8"}}};
}

}  // namespace nebis::http
