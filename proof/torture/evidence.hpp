// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"
#include "witness.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::torture {

/// What really happened, from witnesses that Nebis doesn't control: the database itself, and the bank's ledger file.
class Evidence {
public:
    Evidence(std::unique_ptr<Witness> database, std::string ledger_file);

    /// Reads what came since the last time and adds it to the histories of the keys it belongs to.
    void complete(proof::History& histories, std::chrono::seconds forget_after);
    /// Rows that still say PROCESSING. **Errors**: throws.
    std::int64_t in_progress() { return database_->in_progress(); }

private:
    struct Of {
        std::vector<proof::RowChange> rows;
        proof::Micros seen = 0;
    };

    void read_database();
    void read_ledger();
    void effect(std::string logical, std::uint64_t token, proof::Micros at);

    std::unique_ptr<Witness> database_;
    std::string ledger_file_;
    std::uint64_t ledger_read_ = 0;
    std::map<std::string, std::vector<proof::Effect>, std::less<>> effects_;  ///< by logical id
    std::map<std::string, Of, std::less<>> rows_;                             ///< by key
};

}  // namespace nebis::torture
