-- SPDX-License-Identifier: Apache-2.0
-- Prolongs the lock if it is ours. KEYS lock. ARGV owner, lease in ms.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
