// SPDX-License-Identifier: Apache-2.0
#include "nebis/extend.hpp"

namespace nebis {

Drivers::Drivers() = default;
Drivers::Drivers(const Drivers&) = default;
Drivers::Drivers(Drivers&&) noexcept = default;
Drivers& Drivers::operator=(const Drivers&) = default;
Drivers& Drivers::operator=(Drivers&&) noexcept = default;
Drivers::~Drivers() = default;

}  // namespace nebis
