// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/redis.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

/// Locks that version 1 of the article's component left in a Redis (S40): one string `idempotent:<trace id>` for each
/// request. Nebis uses other names and is never in their way; they only take up room, some of them for ever.
namespace nebis::redis {

/// A key named as version 1 names its locks. Names that begin with `idempotent:lock:` or `idempotent:record:`, behind
/// any prefix, are never counted as such: they are Nebis' own. So is what `v1-compat` puts under version 1's names.
struct V1Key {
    enum class Kind : std::uint8_t {
        left_behind,  ///< a string without a time limit: it would stand for ever
        limited,      ///< a string that ends by itself, in `rest_millis`: perhaps of a request that runs right now
        foreign,      ///< not a string: somebody else's, never touched
    };
    Kind kind = Kind::foreign;
    std::int64_t rest_millis = 0;  ///< limited
    std::string shown;             ///< "key 3f5a0c9d1b22…": tells it apart without telling of whom it is
};

struct V1Options {
    /// `v1_clean`: the limited ones too. Only right when no instance of version 1 runs any more: while one does, such a
    /// key keeps a duplicate from running.
    bool limited_too = false;
    std::size_t most = SIZE_MAX;  ///< `v1_clean`: no more than so many are deleted
    std::size_t page = 500;       ///< names asked for at a time, so that Redis is never held up
};

struct V1Count {
    std::size_t left_behind = 0;
    std::size_t limited = 0;
    std::size_t foreign = 0;
    std::size_t deleted = 0;  ///< `v1_clean`
};

/// Looks at all of them, and changes nothing; `each` is called on this thread. In a Cluster, every master is asked.
/// Names that come or go meanwhile may be seen or not. **Errors**: as a gate's sessions. **Time**: ends at `deadline`.
Result<V1Count> v1_scan(const Options& options, const V1Options& how, const std::function<void(const V1Key&)>& each,
                        Deadline deadline);

/// Deletes them one by one, each only if it is at that very moment still what it was found to be: a string, and without
/// a time limit unless `limited_too`. **Errors**, **Time**: as above; what is deleted by then stays deleted.
Result<V1Count> v1_clean(const Options& options, const V1Options& how, Deadline deadline);

}  // namespace nebis::redis
