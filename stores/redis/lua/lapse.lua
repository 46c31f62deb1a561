-- Recovery of one row. KEYS row, leases. ARGV member, least age, instance (empty: anybody's).
-- 1: the row after the move. 2: it was none to recover and left the index. 0: it stays. 7 damaged: why.
local now = clock()
local row, why = read(KEYS[1])
if why then return damaged(now, why) end
if not row or row.status ~= 0 then
    local fault = index(KEYS[2], nil, ARGV[1])
    return fault and damaged(now, fault) or { 2, now }
end
if lease_end(row) > now or row.update + tonumber(ARGV[2]) > now or (ARGV[3] ~= '' and row.instance ~= ARGV[3]) then
    return { 0, now }
end
local fault = index(KEYS[2], nil, ARGV[1])
if fault then return damaged(now, fault) end
redis.call('HSET', KEYS[1], 'status', '4', 'update_time', written(now))
return { 1, now, redis.call('HGETALL', KEYS[1]) }
