-- KEYS row, leases, expiries, floor. ARGV member, trace id, operation, owner, request hash, status, lease,
-- retention, retention of UNKNOWN, flags (take over a lease, take over UNKNOWN, lapse), not after, instance,
-- snapshot, grace. Times in ms.
-- 0 acquired: version, attempts, took over. 1 in progress: version, attempts, owner, rest. 2 mismatch: version,
-- attempts. 3 finished, 4 unknown, 5 other scheme: the row. 6 late. 7 damaged: why. `now` is always second.
local now, micros = clock()
local not_after = tonumber(ARGV[11])
if not_after ~= 0 and now > not_after then return { 6, now } end
local row, why = read(KEYS[1], ARGV[2])
if why then return damaged(now, why) end
local new, took_over, lapses = not row, 0, false
if row then
    local refusal
    if is_final(row.status) and row.expire <= now then
        new = true
    elseif string.byte(row.hash) ~= string.byte(ARGV[5]) then
        refusal = 5
    elseif row.hash ~= ARGV[5] then
        refusal = 2
    elseif row.status == 0 then
        if lease_end(row) > now then
            refusal = 1
        elseif string.sub(ARGV[10], 1, 1) == '1' then
            took_over = 1
        elseif string.sub(ARGV[10], 3, 3) == '1' then
            refusal, lapses = 4, true
        else
            refusal = 1
        end
    elseif row.status == 4 then
        local kept = tonumber(ARGV[9])
        if string.sub(ARGV[10], 2, 2) == '1' or (kept > 0 and row.expire + kept <= now) then
            took_over = 1
        else
            refusal = 4
        end
    elseif row.status ~= 2 then
        refusal = 3
    end
    if lapses then
        local fault = index(KEYS[2], nil, ARGV[1])
        if fault then return damaged(now, fault) end
        redis.call('HSET', KEYS[1], 'status', '4', 'update_time', written(now))
    end
    if refusal == 1 then
        return { 1, now, row.version, row.attempts, row.owner, math.max(row.lease - now, 0) }
    elseif refusal == 2 then
        return { 2, now, row.version, row.attempts }
    elseif refusal then
        return { refusal, now, redis.call('HGETALL', KEYS[1]) }
    end
end
-- The floor is the greatest version that was ever given out in this bucket: tokens grow over whatever takes rows
-- away, and over a clock that steps back.
local floor, unreadable = redis.pcall('GET', KEYS[4]), 'the version floor of its bucket can\'t be read'
local spoilt = fault_of(floor, unreadable) or (floor and not whole(floor, 1, greatest) and unreadable)
if spoilt then return damaged(now, spoilt) end
local version = math.max(micros, (row and row.version or 0) + 1, (floor and tonumber(floor) or 0) + 1)
local attempts = new and 1 or row.attempts + 1
if version > greatest or attempts > most_attempts then return damaged(now, 'its version or attempts can\'t grow') end
local marked = ARGV[6] == '5'
local lease = marked and 0 or now + tonumber(ARGV[7])
local expire = math.max(now + tonumber(ARGV[8]), lease)
-- Only here memory may refuse: so the first write is one that can be refused.
local fault
if marked then
    fault = index(nil, KEYS[3], ARGV[1], expire) or (row and index(KEYS[2], nil, ARGV[1]))
else
    fault = index(nil, KEYS[2], ARGV[1], lease) or (row and index(KEYS[3], nil, ARGV[1]))
end
if fault then return damaged(now, fault) end
redis.call('SET', KEYS[4], written(version))
redis.call('HSET', KEYS[1], 'trace_id', ARGV[2], 'biz_type', ARGV[3], 'status', ARGV[6], 'version', written(version),
    'owner', ARGV[4], 'attempts', written(attempts), 'request_hash', ARGV[5], 'lease_expire_time', written(lease),
    'expire_time', written(expire), 'update_time', written(now), 'instance', ARGV[12])
if new then redis.call('HSET', KEYS[1], 'create_time', written(now)) end
if row then redis.call('HDEL', KEYS[1], 'outcome_ref', 'request_body', 'response_body') end
if ARGV[13] ~= '' then redis.call('HSET', KEYS[1], 'request_body', ARGV[13]) end
if marked then
    redis.call('PEXPIREAT', KEYS[1], written(expire + tonumber(ARGV[14])))
elseif row then
    redis.call('PERSIST', KEYS[1])
end
return { 0, now, version, attempts, took_over }
