// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis_client/line.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace nebis::redis::records {

/// What a step throws: no memory, or no thread for a look-up.
template <class Step>
std::optional<Error> guarded(Step step) noexcept {
    try {
        step();
        return std::nullopt;
    } catch (const std::exception& thrown) {
        return Error(ErrorKind::maybe_applied, "no resources to talk to Redis", thrown.what());
    }
}

/// Calls by one line, and replies that may be believed: what too few replicas have is `maybe_applied`.
class Asking {
public:
    explicit Asking(std::unique_ptr<Line> line) : line_(std::move(line)) {}
    /// One pipeline. May throw; see `guarded`.
    std::vector<Result<Reply>> run(const std::vector<Call>& calls, Deadline deadline);
    Result<Reply> run_one(const Call& call, Deadline deadline) noexcept;

private:
    std::unique_ptr<Line> line_;
};

}  // namespace nebis::redis::records
