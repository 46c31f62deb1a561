// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which Nebis a program was linked with.

namespace nebis {

/// The version of the linked library, `"major.minor.patch"`; lives as long as the program. Any thread.
const char* version() noexcept;

}  // namespace nebis
