-- KEYS row, leases, expiries. ARGV member, version. 1: it was there, and is gone.
local now = clock()
if redis.pcall('HGET', KEYS[1], 'version') ~= ARGV[2] then return { 0, now } end
redis.pcall('ZREM', KEYS[2], ARGV[1])
redis.pcall('ZREM', KEYS[3], ARGV[1])
redis.call('DEL', KEYS[1])
return { 1, now }
