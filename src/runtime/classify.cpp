// SPDX-License-Identifier: Apache-2.0
#include "runtime/classify.hpp"

#include "nebis/error.hpp"
#include "nebis/extend.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <typeinfo>
#include <vector>

namespace nebis::runtime {
namespace {

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 && text ? std::string(text.get()) : std::string(name);
}

/// The dynamic type first, then its bases.
void add_types(const std::type_info* type, std::vector<std::string>& names) {
    names.push_back(demangled(type->name()));
    if (const auto* single = dynamic_cast<const abi::__si_class_type_info*>(type)) {
        add_types(single->__base_type, names);
    } else if (const auto* many = dynamic_cast<const abi::__vmi_class_type_info*>(type)) {
        for (unsigned i = 0; i < many->__base_count; ++i) add_types(many->__base_info[i].__base_type, names);
    }
}

struct Seen {
    std::vector<std::string> types;
    std::string text = "the handler failed";
    const NotExecuted* not_executed = nullptr;
    const Rejected* rejected = nullptr;
    const RepeatSubmitException* repeat = nullptr;
    const OutcomeUnknown* unknown = nullptr;
    bool connection_lost = false;
};

bool leaves_open(const std::error_code& code) {
    return code == std::errc::timed_out || code == std::errc::connection_reset ||
           code == std::errc::connection_aborted || code == std::errc::broken_pipe ||
           code == std::errc::network_reset || code == std::errc::io_error || code == std::errc::stream_timeout;
}

/// The exception lives as long as `failure`, so pointers into it may be kept.
Seen look_at(const std::exception_ptr& failure) {
    Seen seen;
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        seen.text = e.what();
        seen.not_executed = dynamic_cast<const NotExecuted*>(&e);
        seen.rejected = dynamic_cast<const Rejected*>(&e);
        seen.repeat = dynamic_cast<const RepeatSubmitException*>(&e);
        seen.unknown = dynamic_cast<const OutcomeUnknown*>(&e);
        if (const auto* system = dynamic_cast<const std::system_error*>(&e))
            seen.connection_lost = leaves_open(system->code());
        add_types(abi::__cxa_current_exception_type(), seen.types);
    } catch (...) {
        if (const std::type_info* type = abi::__cxa_current_exception_type()) add_types(type, seen.types);
    }
    return seen;
}

bool listed(const std::vector<std::string>& list, const std::vector<std::string>& types) {
    return std::any_of(types.begin(), types.end(), [&](const std::string& type) {
        return std::find(list.begin(), list.end(), type) != list.end();
    });
}

Ending refused(const Seen& seen) {
    return {RecordStatus::rejected, {seen.rejected ? seen.rejected->status() : 422, {}, seen.text, false}};
}

Ending by_certainty(Certainty certainty, const Seen& seen, RecordStatus unlisted) {
    switch (certainty) {
        case Certainty::done: return {RecordStatus::success, {200, {}, {}, false}};
        case Certainty::not_executed: return {RecordStatus::fail, {}};
        case Certainty::rejected: return refused(seen);
        case Certainty::unknown: return {RecordStatus::unknown, {}};
        case Certainty::unlisted: break;
    }
    return {unlisted, {}};
}

}  // namespace

Ending classify(const config::OperationSettings& settings, const std::exception_ptr& failure) noexcept {
    try {
        const Seen seen = look_at(failure);
        if (settings.exception_classifier.object) {
            Certainty certainty = Certainty::unlisted;
            try {
                certainty = settings.exception_classifier.object->classify(
                    failure, seen.types.empty() ? "" : seen.types.front());
            } catch (...) {
                certainty = Certainty::unlisted;  // it has no opinion
            }
            if (certainty != Certainty::unlisted) return by_certainty(certainty, seen, RecordStatus::unknown);
        }
        if (seen.not_executed || seen.repeat) return {RecordStatus::fail, {}};
        if (seen.rejected) return refused(seen);
        if (seen.unknown) return {RecordStatus::unknown, {}};
        if (listed(settings.unknown_exceptions, seen.types)) return {RecordStatus::unknown, {}};
        if (listed(settings.final_exceptions, seen.types)) return refused(seen);
        if (listed(settings.retryable_exceptions, seen.types)) return {RecordStatus::fail, {}};
        if (settings.mode == Mode::atomic) return {RecordStatus::fail, {}};
        const bool open = seen.connection_lost ||
                          std::any_of(seen.types.begin(), seen.types.end(),
                                      [](const std::string& type) { return config::leaves_outcome_open(type); });
        if (open) return {RecordStatus::unknown, {}};
        return {settings.unlisted == Unlisted::fail ? RecordStatus::fail : RecordStatus::unknown, {}};
    } catch (...) {
        return {RecordStatus::unknown, {}};  // out of memory: nobody knows is the safe word
    }
}

}  // namespace nebis::runtime
