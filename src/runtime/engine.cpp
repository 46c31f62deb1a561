// SPDX-License-Identifier: Apache-2.0
#include "nebis/engine.hpp"

#include "config/load.hpp"
#include "runtime/call.hpp"
#include "runtime/core.hpp"

#include <utility>

namespace nebis {

using runtime::Call;
using runtime::CallOptions;
using runtime::Core;

// ---- Operation

const std::string& Operation::name() const noexcept { return *state_->name; }
OnDuplicate Operation::on_duplicate() const noexcept { return state_->settings.on_duplicate; }
Mode Operation::mode() const noexcept { return state_->settings.mode; }
bool Operation::has_response_producer() const noexcept { return state_->settings.response_producer.object != nullptr; }
std::chrono::milliseconds Operation::retention() const noexcept { return state_->settings.retention; }
std::size_t Operation::max_request_bytes() const noexcept { return state_->settings.max_request_bytes; }
std::size_t Operation::max_response_bytes() const noexcept { return state_->settings.max_response_bytes; }
std::string_view Operation::key_header() const noexcept { return state_->key_header; }
const std::vector<std::string>& Operation::warnings() const noexcept { return state_->warnings; }

// ---- open

Result<Engine> Engine::make(Parts parts) {
    auto core = Core::make(std::move(parts));
    if (!core) return std::move(core).error();
    return Engine(*std::move(core));
}

Result<Engine> Engine::open(const std::string& file, Drivers drivers, OpenOptions options) {
    config::LoadOptions load;
    if (options.use_environment) load.environment = config::process_environment();
    load.sets = options.sets;
    load.drivers = &drivers;
    auto settings = config::load(file, load);
    if (!settings) return std::move(settings).error();
    Parts parts;
    parts.drivers = std::move(drivers);
    parts.options = std::move(options);
    auto core = Core::make(std::move(parts), *std::move(settings));
    if (!core) return std::move(core).error();
    return Engine(*std::move(core));
}

Result<Operation> Engine::operation(const Policy& policy) const {
    auto state = core_->operation(policy);
    if (!state) return std::move(state).error();
    return Operation(*std::move(state));
}

// ---- calls

Answer Engine::run(const Operation& operation, const Request& request, const Handler& handler) const {
    return Call::run(core_->services(), operation.state(), request, handler);
}

void Engine::run_async(const Operation& operation, Request request, Handler handler, Executor& executor,
                       std::function<void(Answer)> done) const {
    run_async(operation, std::move(request), std::move(handler), executor, AsyncOptions{}, std::move(done));
}

void Engine::run_async(const Operation& operation, Request request, Handler handler, Executor& executor,
                       AsyncOptions options, std::function<void(Answer)> done) const {
    CallOptions call;
    call.executor = &executor;
    call.answers = options.answers;
    call.done = std::move(done);
    call.caller_gone = std::move(options.caller_gone);
    Call::start(core_->services(), operation.state(), std::move(request), std::move(handler), std::move(call));
}

Result<std::string> Engine::create_token(const Operation& operation, std::string_view principal,
                                         std::string_view tenant) const {
    if (!core_->tokens())
        return Error(ErrorKind::misconfigured, "no token keys are set", {}, "token.keys.<id>.secret or secret-file");
    return core_->tokens()->create(operation.name(), principal, tenant);
}

// ---- upkeep and life

std::chrono::milliseconds Engine::tick() const {
    using std::chrono::milliseconds;
    constexpr auto longest = milliseconds(60'000);
    const auto renewals = core_->services()->renewer.tick();
    const auto upkeep = core_->caretaker().tick();
    const auto now = std::chrono::steady_clock::now();
    const auto next = std::min({renewals, upkeep, now + longest});
    return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(next - now));
}

Result<std::size_t> Engine::recover_now() const { return core_->caretaker().recover_now(); }
Result<std::size_t> Engine::clean_now() const { return core_->caretaker().clean_now(); }
bool Engine::drain(std::chrono::milliseconds timeout) const { return core_->drain(timeout); }
std::string Engine::metrics() const { return core_->services()->watch->metrics.text(); }
std::vector<std::string> Engine::warnings() const { return core_->warnings(); }
std::string Engine::setting(std::string_view path) const {
    return config::setting_text(core_->services()->settings, path);
}

}  // namespace nebis
