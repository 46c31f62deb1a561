-- SPDX-License-Identifier: Apache-2.0
-- Finished result, else the lock, else what is left of somebody else's.
-- KEYS lock, result. ARGV owner, lease in ms, how a result that fits begins (empty: don't look).
-- A string: the result. A number: 0 granted, else the rest in ms. The number in an array: a result that
-- nobody can read was in the way, and is gone.
local foreign = false
if ARGV[3] ~= '' then
    local kept = redis.pcall('GET', KEYS[2])
    if type(kept) == 'string' then
        if string.sub(kept, 1, #ARGV[3]) == ARGV[3] then return kept end
        foreign = string.sub(kept, 1, 2) ~= string.sub(ARGV[3], 1, 2)
    elseif kept then
        foreign = true
    end
end
local rest = 0
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    rest = redis.call('PTTL', KEYS[1])
    -- Ours always have a time limit: what has none is somebody else's, and would stand for ever.
    if rest < 0 or redis.pcall('GET', KEYS[1]) == ARGV[1] then
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        rest = 0
    elseif rest == 0 then
        rest = 1
    end
end
if foreign then
    redis.call('DEL', KEYS[2])
    return { rest }
end
return rest
