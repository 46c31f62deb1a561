// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nebis::torture {

/// The article's algorithm under the same clients, judged by the same checker: it has to be convicted, of double
/// effect and of SUCCESS overwritten by FAIL, else an acquittal of ours means nothing. Everything is in this process;
/// an instance that dies leaves its handler by an exception that nobody catches, table and lock service live on.
/// Prints what was found. True: convicted of both.
bool convict_straw_man(std::uint64_t seed);

}  // namespace nebis::torture
