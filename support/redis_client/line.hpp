// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "script.hpp"
#include "servers.hpp"

#include <memory>
#include <span>

namespace nebis::redis {

/// Takes calls to the server that serves their keys and brings the replies, pipelined. Opens connections when they are
/// needed, and anew when they broke. **Threads**: one at a time.
class Line {
public:
    virtual ~Line() = default;
    /// Each element of `out` is set: the reply, or why there is none. Errors of the server are errors here.
    virtual void run(std::span<const Call> calls, std::span<Result<Reply>> out, Deadline deadline) = 0;
    /// Makes sure that there is somebody to talk to.
    virtual Result<void> prepare(Deadline deadline) = 0;
};

std::unique_ptr<Line> make_line(std::shared_ptr<Servers> servers);

/// For a Cluster; `make_line` knows when.
std::unique_ptr<Line> make_cluster_line(std::shared_ptr<Servers> servers);

}  // namespace nebis::redis
