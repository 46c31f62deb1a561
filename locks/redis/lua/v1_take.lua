-- SPDX-License-Identifier: Apache-2.0
-- Takes version 1's lock for an attempt of ours. KEYS its name. ARGV our mark, lease in ms.
-- 0: taken. Else the rest of version 1's in ms; one without a time limit counts as a second, again and again.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local held = redis.pcall('GET', KEYS[1])
-- Not a string: nobody's lock, and version 1's SET is refused by it as well.
if type(held) ~= 'string' then return 0 end
-- Of Nebis, whose own lock has been taken already: that one decides among instances of Nebis.
if string.sub(held, 1, 6) == 'nebis:' then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 0
end
local rest = redis.call('PTTL', KEYS[1])
if rest < 0 then return 1000 end
if rest == 0 then return 1 end
return rest
