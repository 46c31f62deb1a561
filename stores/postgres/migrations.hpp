// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/migrate.hpp"
#include "nebis/postgres.hpp"

#include <memory>
#include <string>

namespace nebis::postgres {

/// Versions of one record table. Online: whatever must hold the table whole is tried for 100 ms at a time and done in
/// a moment; what takes long lets others read and write.
std::shared_ptr<Migrations> migrations(Options options, std::string table);

}  // namespace nebis::postgres
