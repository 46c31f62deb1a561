// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

/// What is done to nodes. **Errors** of all: see zookeeper.hpp. **Time**: by the deadline.
namespace nebis::zookeeper {

struct Node {
    std::string value;
    std::int32_t version = 0;
    std::int64_t session = 0;  ///< whose ephemeral node it is; 0: nobody's
};

enum class Did : std::uint8_t {
    it,
    there_already,
    not_there,      ///< the node, or for a new one its parent
    other_version,  ///< somebody has changed it
};

Result<std::optional<Node>> look(Session& session, const std::string& path, Deadline deadline);
Result<Did> make_ephemeral(Session& session, const std::string& path, const std::string& value, Deadline deadline);
Result<Did> make_persistent(Session& session, const std::string& path, Deadline deadline);
Result<Did> change(Session& session, const std::string& path, const std::string& value, std::int32_t version,
                   Deadline deadline);
Result<Did> remove(Session& session, const std::string& path, std::int32_t version, Deadline deadline);
/// Removed and made anew at once: an ephemeral node changes its session no other way.
Result<Did> replace(Session& session, const std::string& path, const std::string& value, std::int32_t version,
                    Deadline deadline);

}  // namespace nebis::zookeeper
