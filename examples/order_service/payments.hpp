// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"

#include <nebis/extend.hpp>
#include <nebis/http.hpp>

#include <chrono>
#include <string>

/// Money moves at a bank that is reached over HTTP, so no transaction covers it and the record: mode `execute`.
/// The bank hears a reference that is the attempt's own, and can be asked for it later.
namespace shop {

/// Settles payments of unknown outcome (`on-unknown: ask`).
class Bank : public nebis::OutcomeResolver {
public:
    explicit Bank(Endpoint endpoint, std::chrono::milliseconds patience = std::chrono::milliseconds(1'500))
        : endpoint_(std::move(endpoint)), patience_(patience) {}

    /// The body of POST /payments: `{"amount": "9.90", "to": "…", "note": "…"}`. A header `X-Bank-Mode` tells the
    /// pretend bank how to misbehave. **Errors**: throws `Rejected`, `NotExecuted` or `OutcomeUnknown`.
    nebis::http::Reply pay(const nebis::Request& request, nebis::Execution& execution) const;

    /// Looks the payment up. When the bank doesn't have it, it is told to refuse that reference from now on: only then
    /// is "did not happen" true for good, whatever still travels.
    nebis::Resolution resolve(const nebis::Record& record, nebis::Deadline deadline) override;

private:
    CallResult ask(std::string_view method, const std::string& target, std::string body = {}) const;

    Endpoint endpoint_;
    std::chrono::milliseconds patience_;
};

}  // namespace shop
