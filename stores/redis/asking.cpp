// SPDX-License-Identifier: Apache-2.0
#include "asking.hpp"

namespace nebis::redis::records {
namespace {

/// What too few replicas have may be forgotten by a failover: it can't be told as done, nor as found.
void believe(Result<Reply>& reply) {
    if (!reply || !reply->unconfirmed) return;
    reply = Error(ErrorKind::maybe_applied, "too few replicas of Redis have this record", {},
                  "bring the replicas back, or lower `wait-replicas`: a failover may then forget more")
                .with_code("redis-unconfirmed");
}

}  // namespace

std::vector<Result<Reply>> Asking::run(const std::vector<Call>& calls, Deadline deadline) {
    std::vector<Result<Reply>> replies(calls.size(), Error(ErrorKind::internal, "not set"));
    line_->run(calls, replies, deadline);
    for (auto& reply : replies) believe(reply);
    return replies;
}

Result<Reply> Asking::run_one(const Call& call, Deadline deadline) noexcept {
    Result<Reply> out = Error(ErrorKind::internal, "not set");
    const auto failed = guarded([&] {
        line_->run({&call, 1}, {&out, 1}, deadline);
        believe(out);
    });
    if (failed) return *failed;
    return out;
}

}  // namespace nebis::redis::records
