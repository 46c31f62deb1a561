-- SPDX-License-Identifier: Apache-2.0
-- An operator's steps: drop the result, and take the lock whoever holds it, or drop it too.
-- KEYS lock, result. ARGV [owner, lease in ms].
redis.call('DEL', KEYS[2])
if ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
else
    redis.call('DEL', KEYS[1])
end
return 1
