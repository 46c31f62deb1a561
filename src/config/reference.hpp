// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"

#include <string>

/// Pages made of the tables, so that they can't fall behind; golden tests compare them with what is committed.
namespace nebis::config {

/// docs/configuration.md. `drivers`: whose own keys are listed too.
std::string reference_page(const Drivers& drivers);

/// docs/nebis.schema.json, JSON Schema 2020-12: editors check a configuration while it is typed.
std::string json_schema(const Drivers& drivers);

/// docs/metrics.md.
std::string metrics_page();

}  // namespace nebis::config
