-- KEYS row, leases, expiries. ARGV member, trace id, version, owner, status, from (PROCESSING, UNKNOWN, MARKED),
-- retention, outcome_ref, new owner, grace, response.
-- 1 applied. 0 not: the row, if there is one. 7 damaged: why.
local now = clock()
local row, why = read(KEYS[1], ARGV[2])
if why then return damaged(now, why) end
if not row then return { 0, now } end
local from = row.status == 0 and 1 or row.status == 4 and 2 or row.status == 5 and 3 or 4
if written(row.version) ~= ARGV[3] or row.owner ~= ARGV[4] or string.sub(ARGV[6], from, from) ~= '1' then
    return { 0, now, redis.call('HGETALL', KEYS[1]) }
end
local status = tonumber(ARGV[5])
local lease = status == 0 and row.lease or now
local expire = math.max(now + tonumber(ARGV[7]), lease)
-- Each begins with taking out, so that a result is kept also when memory is full.
local fault
if status == 0 then
    fault = index(KEYS[3], KEYS[2], ARGV[1], lease_end({ lease = lease, expire = expire }))
elseif status == 4 then
    fault = index(KEYS[2], nil, ARGV[1]) or index(KEYS[3], nil, ARGV[1])
else
    fault = index(KEYS[2], KEYS[3], ARGV[1], expire)
end
if fault then return damaged(now, fault) end
redis.call('HSET', KEYS[1], 'status', ARGV[5], 'lease_expire_time', written(lease), 'expire_time', written(expire),
    'update_time', written(now))
if ARGV[9] ~= '' then redis.call('HSET', KEYS[1], 'owner', ARGV[9]) end
if ARGV[8] ~= '' then redis.call('HSET', KEYS[1], 'outcome_ref', ARGV[8]) end
if ARGV[11] ~= '' then
    redis.call('HSET', KEYS[1], 'response_body', ARGV[11])
else
    redis.call('HDEL', KEYS[1], 'response_body')
end
if is_final(status) then
    redis.call('PEXPIREAT', KEYS[1], written(expire + tonumber(ARGV[10])))
else
    redis.call('PERSIST', KEYS[1])
end
return { 1, now }
