-- KEYS row. 1: the row, 0: none, 7 damaged: why.
local now = clock()
local fields = redis.pcall('HGETALL', KEYS[1])
local fault = fault_of(fields, 'it is no hash')
if fault then return damaged(now, fault) end
if #fields == 0 then return { 0, now } end
return { 1, now, fields }
