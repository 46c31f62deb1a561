-- SPDX-License-Identifier: Apache-2.0
-- Drops the lock if it is ours and, only then, keeps the result and tells who waits.
-- KEYS lock, result. ARGV owner, channel (empty: tell nobody), [time to live in ms, result].
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
-- Without memory for it, or the right to, the result or the message is left out: the lock must go all the same.
if ARGV[4] then redis.pcall('SET', KEYS[2], ARGV[4], 'PX', ARGV[3]) end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' then redis.pcall('PUBLISH', ARGV[2], '') end
return 1
