-- SPDX-License-Identifier: Apache-2.0
-- The result alone. KEYS lock, result.
local kept = redis.pcall('GET', KEYS[2])
if type(kept) == 'string' then return kept end
return false
