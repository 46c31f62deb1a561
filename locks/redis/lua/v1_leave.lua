-- SPDX-License-Identifier: Apache-2.0
-- Gives version 1's lock back if it is ours. KEYS its name. ARGV our mark, [time in ms to stand on: what was done].
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] then
    redis.call('SET', KEYS[1], 'nebis:done', 'PX', ARGV[2])
else
    redis.call('DEL', KEYS[1])
end
return 1
