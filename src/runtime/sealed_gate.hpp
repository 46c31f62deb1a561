// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "runtime/sealing.hpp"

#include <memory>

namespace nebis::runtime {

/// A gate whose kept results are sealed. One that doesn't open (another ring sealed it, or it was tampered with) is
/// dropped, and the request enters as if none had stood there: the store knows the answer. A gate in this process's
/// memory is handed back as it is.
std::shared_ptr<Gate> sealed(std::shared_ptr<Gate> gate, std::shared_ptr<const Sealing> sealing);

}  // namespace nebis::runtime
