-- SPDX-License-Identifier: Apache-2.0
-- What stands under a name of version 1's, looked at in one step. KEYS the name.
-- Its type and its rest in ms, as PTTL tells it; the type of what `v1-compat` put there is 'nebis'.
local type = redis.call('TYPE', KEYS[1]).ok
if type == 'string' and redis.call('GETRANGE', KEYS[1], 0, 5) == 'nebis:' then type = 'nebis' end
return { type, redis.call('PTTL', KEYS[1]) }
