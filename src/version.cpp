// SPDX-License-Identifier: Apache-2.0
#include "nebis/version.hpp"

namespace nebis {

const char* version() noexcept { return NEBIS_VERSION; }

}  // namespace nebis
