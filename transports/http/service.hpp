// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "handler_pool.hpp"
#include "nebis/http.hpp"
#include "router.hpp"
#include "site.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace nebis::http {

/// The meaning of requests: routes, callers, the engine, the handlers' threads. **Threads**: routes are added before
/// the first request.
class Service : public Site, public std::enable_shared_from_this<Service> {
public:
    Service(Engine engine, ServerOptions options, std::shared_ptr<const Presentation> presentation);

    Router& router() noexcept { return router_; }
    const Engine& engine() const noexcept { return engine_; }
    const ServerOptions& options() const noexcept { return options_; }
    HandlerPool& pool() noexcept { return pool_; }
    /// From now on `health` says that no more should come.
    void stopping(bool yes) noexcept { stopping_.store(yes, std::memory_order_relaxed); }
    bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }
    /// The page at `documentation_path`.
    Reply documentation() const;

    std::optional<Response> admit(Incoming& incoming) override;
    void serve(Incoming incoming, Answered answered) override;
    Response refuse(std::string_view word, std::string_view detail) override;
    void log(std::string_view line) override;

private:
    std::optional<Response> identify_caller(Request& request) const;
    Response refused(std::string_view word, std::string_view detail, const Request& request) const;
    void serve_unprotected(Incoming incoming, Answered answered);
    Response passed(const Route& route, const Request& request) const;

    Engine engine_;
    ServerOptions options_;
    std::shared_ptr<const Presentation> presentation_;
    Router router_;
    HandlerPool pool_;
    std::atomic<bool> stopping_ = false;
};

/// The presentation that the configuration asks for.
Presentation presentation_from(const Engine& engine, const ServerOptions& options);

}  // namespace nebis::http
