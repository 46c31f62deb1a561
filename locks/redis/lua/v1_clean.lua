-- SPDX-License-Identifier: Apache-2.0
-- A lock of version 1 goes, if it is one. KEYS its name. ARGV '1': even when it would end by itself.
-- Looked at and deleted in one step: what became another's meanwhile stays.
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return 0 end
-- What `v1-compat` put there is Nebis' own, and keeps version 1 out.
if redis.call('GETRANGE', KEYS[1], 0, 5) == 'nebis:' then return 0 end
if ARGV[1] ~= '1' and redis.call('PTTL', KEYS[1]) ~= -1 then return 0 end
return redis.call('DEL', KEYS[1])
