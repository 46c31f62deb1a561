-- Deletes one expired final row. KEYS row, expiries. ARGV member.
-- 1 deleted. 2: it was none to delete and left the index. 0: it stays. 7 damaged: why.
local now = clock()
local row, why = read(KEYS[1])
if why then return damaged(now, why) end
if row and is_final(row.status) and row.expire > now then return { 0, now } end
local fault = index(KEYS[2], nil, ARGV[1])
if fault then return damaged(now, fault) end
if not row or not is_final(row.status) then return { 2, now } end
redis.call('DEL', KEYS[1])
return { 1, now }
