// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/migrate.hpp"
#include "nebis/sqlite.hpp"

#include <memory>
#include <string>

namespace nebis::sqlite {

/// Versions of one record table in a file. Everything that `up` changes is one transaction.
std::shared_ptr<Migrations> migrations(Options options, std::string table);

}  // namespace nebis::sqlite
