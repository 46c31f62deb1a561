-- SPDX-License-Identifier: Apache-2.0
-- What the scripts share; stands before each of them. One script decides one row, by the rules of
-- src/runtime/row_rules.hpp, and touches nothing but its KEYS, which all lie in one bucket.
-- Status: 0 PROCESSING, 1 SUCCESS, 2 FAIL, 3 REJECTED, 4 UNKNOWN, 5 MARKED.
local greatest = 9007199253740991 -- Lua's numbers are exact below 2^53; what lies near it isn't a clock of ours
local most_attempts = 4294967294

local function clock()
    local time = redis.call('TIME')
    local seconds, micros = tonumber(time[1]), tonumber(time[2])
    return seconds * 1000 + math.floor(micros / 1000), seconds * 1000000 + micros
end

local function written(number) return string.format('%.0f', number) end

local function whole(text, least, most)
    if type(text) ~= 'string' or #text > 16 or not string.find(text, '^%d+$') then return nil end
    local number = tonumber(text)
    if number < least or number > most then return nil end
    return number
end

local function damaged(now, why)
    if type(why) == 'table' then return why end -- the server's own error
    return { 7, now, why }
end

-- What to tell of a reply: `wrong` when somebody else's thing stands there, the server's own error when it refuses
-- (a replica, no memory, a right that is missing), nothing when it is none.
local function fault_of(reply, wrong)
    if type(reply) ~= 'table' or not reply.err then return nil end
    return string.find(reply.err, '^WRONGTYPE') and wrong or reply
end

-- The columns that decide; nothing when there is no row; nil and why when it can't be trusted.
local function read(key, trace_id)
    local got = redis.pcall('HMGET', key, 'trace_id', 'status', 'version', 'owner', 'attempts', 'request_hash',
        'lease_expire_time', 'expire_time', 'update_time', 'create_time', 'instance')
    local fault = fault_of(got, 'it is no hash')
    if fault then return nil, fault end
    if not got[1] and not got[2] and redis.call('EXISTS', key) == 0 then return nil end
    local row = {
        status = whole(got[2], 0, 5),
        version = whole(got[3], 1, greatest),
        owner = got[4],
        attempts = whole(got[5], 1, most_attempts),
        hash = got[6],
        lease = whole(got[7], 0, greatest),
        expire = whole(got[8], 0, greatest),
        update = whole(got[9], 0, greatest),
        instance = got[11],
    }
    if not got[1] or (trace_id and got[1] ~= trace_id) then return nil, 'it is of another key' end
    if not row.status then return nil, 'unknown status' end
    if not row.version then return nil, 'impossible version' end
    if not row.owner or #row.owner ~= 16 then return nil, 'no owner' end
    if not row.attempts then return nil, 'impossible number of attempts' end
    if not row.hash or #row.hash ~= 33 then return nil, 'no request hash' end
    if not row.lease or not row.expire or not row.update or not whole(got[10], 0, greatest) then
        return nil, 'impossible time'
    end
    if not row.instance then return nil, 'no instance' end
    return row
end

local function is_final(status) return status ~= 0 and status ~= 4 end

-- A row without a lease is held until its own retention ends (C13).
local function lease_end(row)
    if row.lease > 0 then return row.lease end
    if row.expire > 0 then return row.expire end
    return greatest
end

-- The index first, the row last: a row that is in no index would never be recovered. What is taken out goes
-- before what is put in, for a full memory refuses a script only until its first write. Returns an error, and has
-- changed nothing then.
local function index(remove, add, member, score)
    local wrong, fault = 'an index of its bucket is no sorted set', nil
    if remove and add and remove ~= add then fault = fault_of(redis.pcall('ZCARD', add), wrong) end
    if not fault and remove then fault = fault_of(redis.pcall('ZREM', remove, member), wrong) end
    if not fault and add then fault = fault_of(redis.pcall('ZADD', add, written(score), member), wrong) end
    return fault
end
