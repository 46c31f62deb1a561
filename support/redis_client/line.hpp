// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "script.hpp"
#include "servers.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

namespace nebis::redis {

/// How many replicas must have what a call read or wrote before its reply counts (WAIT). Redis counts everything that
/// the server had done by then, whoever asked for it.
struct Confirm {
    int replicas = 0;  ///< 0: the master alone
    std::chrono::milliseconds timeout{0};
};
/// As a command behind the calls that it is for; shorter where the deadline is near.
void append(Commands& out, const Confirm& confirm, Deadline deadline);
/// Its answer, for those of `rows` that have a reply.
void note_confirmed(const Confirm& confirm, const Result<Reply>& answer, std::span<const std::size_t> rows,
                    std::span<Result<Reply>> out);

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

std::unique_ptr<Line> make_line(std::shared_ptr<Servers> servers, Confirm confirm = {});

/// For a Cluster; `make_line` knows when.
std::unique_ptr<Line> make_cluster_line(std::shared_ptr<Servers> servers, Confirm confirm);

}  // namespace nebis::redis
