-- The members of an index that are over. KEYS index. ARGV how many to pass over, how many at most.
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', written(clock()), 'LIMIT', ARGV[1], ARGV[2])
