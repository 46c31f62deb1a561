// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "record.hpp"
#include "redis_client/line.hpp"

#include <atomic>
#include <memory>

namespace nebis::redis::records {

/// Where upkeep goes on, so that a bucket with much to do doesn't starve the others.
struct Rounds {
    std::atomic<std::size_t> recover{0};
    std::atomic<std::size_t> clean{0};
};

/// What all sessions of a store share.
struct Shared {
    std::shared_ptr<Servers> servers;
    Names names;
    Confirm confirm;
    Rounds rounds;
};

std::unique_ptr<StoreSession> make_session(std::unique_ptr<Line> line, std::shared_ptr<Shared> shared);

}  // namespace nebis::redis::records
