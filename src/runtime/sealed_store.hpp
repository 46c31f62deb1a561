// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "runtime/sealing.hpp"

#include <memory>

namespace nebis::runtime {

/// A store whose bodies are sealed on their way in and opened on their way out, whatever driver it is. A row whose body
/// doesn't open is the error of that row alone. Without keys it does one thing: a sealed body is an error too, never an
/// answer.
std::shared_ptr<Store> sealed(std::shared_ptr<Store> store, std::shared_ptr<const Sealing> sealing);

/// The driver's own store behind a sealed one; else the same.
const Store& without_seals(const Store& store) noexcept;

}  // namespace nebis::runtime
