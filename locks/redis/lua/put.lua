-- SPDX-License-Identifier: Apache-2.0
-- Keeps a result, or drops it. KEYS lock, result. ARGV [time to live in ms, result].
if ARGV[1] then
    redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[1])
else
    redis.call('DEL', KEYS[2])
end
return 1
