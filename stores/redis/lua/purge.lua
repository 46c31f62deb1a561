-- KEYS row, leases, expiries. ARGV member, version. 1: it was there, and is gone.
local now = clock()
local version = redis.pcall('HGET', KEYS[1], 'version')
local fault = fault_of(version, 'it is no hash')
if fault then return damaged(now, fault) end
if version ~= ARGV[2] then return { 0, now } end
redis.pcall('ZREM', KEYS[2], ARGV[1])
redis.pcall('ZREM', KEYS[3], ARGV[1])
redis.call('DEL', KEYS[1])
return { 1, now }
