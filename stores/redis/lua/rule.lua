-- The digest that stands. KEYS rule. ARGV digest, accept.
local known = redis.call('GET', KEYS[1])
if known and (ARGV[2] == '0' or known == ARGV[1]) then return known end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
