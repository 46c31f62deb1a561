// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Going through all rows of a table and writing their bodies anew, each byte of meaning the same: that is how old
/// snapshots come under a new key (S52). Optional: a driver's session is a RowRewriter too when it can do this.
namespace nebis {

/// Rows in the order of their keys' bytes.
struct RowPage {
    std::vector<Record> rows;    ///< as they are stored
    std::size_t unreadable = 0;  ///< damaged rows, passed over
    std::string last;            ///< where the next page goes on; empty: this was the last page
};

/// Compare-and-set on (trace_id, version, owner, status, update_time) of `seen`: write both bodies, leave every other
/// column as it is, update_time too. A row that was written in the same millisecond as it was read could be taken for
/// unchanged: rewrite only rows that rested for a second.
struct RewriteRequest {
    const Record* seen = nullptr;
    std::string_view request_body;
    const Response* response = nullptr;  ///< null: none; as in `seen`
};

/// **Threads**, **time**, **errors**: as of the StoreSession that it is a part of.
class RowRewriter {
public:
    virtual ~RowRewriter() = default;
    /// At most `limit` rows whose trace id is greater than `after`.
    virtual Result<RowPage> page(std::string_view after, std::size_t limit, Deadline deadline) = 0;
    /// True: written, durably. False: the row has changed, is gone, or is held by somebody; it is as they left it.
    /// Requests as a page gave them: unique, in order.
    virtual void rewrite(std::span<const RewriteRequest> in, std::span<Result<bool>> out, Deadline deadline) = 0;
};

}  // namespace nebis
