// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nebis::runtime {

/// True on threads that the engine itself made: they must never wait for the engine's end.
inline thread_local bool own_thread = false;

}  // namespace nebis::runtime
