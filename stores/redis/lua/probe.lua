-- Every command of the other scripts, on a name that is there for nothing else and gone afterwards, so that a start can
-- tell which right is missing. KEYS probe. 1: none. Else the command and what Redis says.
local time = redis.pcall('TIME')
if time.err then return { 'TIME', time.err } end
local now = written(clock())
for _, command in ipairs({
    { 'GET', KEYS[1] }, { 'EXISTS', KEYS[1] }, { 'SET', KEYS[1], now }, { 'DEL', KEYS[1] },
    { 'HSET', KEYS[1], 'field', now }, { 'HGET', KEYS[1], 'field' }, { 'HMGET', KEYS[1], 'field' },
    { 'HGETALL', KEYS[1] }, { 'HDEL', KEYS[1], 'nothing' }, { 'PEXPIREAT', KEYS[1], written(clock() + 60000) },
    { 'PERSIST', KEYS[1] }, { 'DEL', KEYS[1] }, { 'ZADD', KEYS[1], now, 'member' }, { 'ZCARD', KEYS[1] },
    { 'ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', '0', '1' }, { 'ZREM', KEYS[1], 'member' },
}) do
    local reply = redis.pcall(unpack(command))
    if type(reply) == 'table' and reply.err then return { command[1], reply.err } end
end
return 1
