-- KEYS row, leases. ARGV member, trace id, version, owner, lease, ask.
-- 1 renewed, 0 lost, 7 damaged: why.
local now = clock()
local row, why = read(KEYS[1], ARGV[2])
if why then return damaged(now, why) end
if not row or written(row.version) ~= ARGV[3] or row.owner ~= ARGV[4] then return { 0, now } end
local ask = ARGV[6] == '1'
if ask and (row.status ~= 4 or row.lease > now) or not ask and row.status ~= 0 then return { 0, now } end
local lease = now + tonumber(ARGV[5])
local fault = index(KEYS[2], not ask and KEYS[2] or nil, ARGV[1], lease)
if fault then return damaged(now, fault) end
redis.call('HSET', KEYS[1], 'lease_expire_time', written(lease), 'expire_time',
    written(math.max(row.expire, lease)), 'update_time', written(now))
return { 1, now }
