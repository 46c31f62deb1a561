-- KEYS row. 1: the row, 0: none, 7 damaged: why.
local now = clock()
local fields = redis.pcall('HGETALL', KEYS[1])
if fields.err then
    if string.find(fields.err, '^WRONGTYPE') then return damaged(now, 'it is no hash') end
    return fields
end
if #fields == 0 then return { 0, now } end
return { 1, now, fields }
