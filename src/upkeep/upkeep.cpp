// SPDX-License-Identifier: Apache-2.0
#include "upkeep/cleanup.hpp"
#include "upkeep/recovery.hpp"
