// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/migrate.hpp"
#include "nebis/mysql.hpp"

#include <memory>
#include <string>

namespace nebis::mysql {

/// Versions of one record table. Online: whatever must hold the table whole is tried for a second at a time and done in
/// a moment; what takes long lets others read and write.
std::shared_ptr<Migrations> migrations(Options options, std::string table);

}  // namespace nebis::mysql
