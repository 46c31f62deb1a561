// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::torture {

/// What really happened, from witnesses that Nebis doesn't control: the rows of the orders table, the bank's ledger
/// file, and a trail of every committed write to the record table, kept by triggers of SQLite itself.
class Evidence {
public:
    /// The tables must be there. Lays the trail. **Errors**: throws.
    Evidence(const std::string& database, std::string ledger_file);

    /// Reads what came since the last time and adds it to the histories of the keys it belongs to.
    void complete(proof::History& histories, std::chrono::seconds forget_after);
    /// Rows that still say PROCESSING.
    std::int64_t in_progress();

private:
    struct Of {
        std::vector<proof::RowChange> rows;
        proof::Micros seen = 0;
    };
    using Connection = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

    void read_orders();
    void read_ledger();
    void read_trail();
    void effect(std::string logical, std::uint64_t token, proof::Micros at);

    Connection db_;
    std::string ledger_file_;
    std::int64_t orders_read_ = 0;
    std::int64_t trail_read_ = 0;
    std::uint64_t ledger_read_ = 0;
    std::map<std::string, std::vector<proof::Effect>, std::less<>> effects_;  ///< by logical id
    std::map<std::string, Of, std::less<>> rows_;                             ///< by key
};

}  // namespace nebis::torture
