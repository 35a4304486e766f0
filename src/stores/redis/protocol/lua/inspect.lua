-- All of a name. Writes nothing.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- Returns {now, fence, lock, its milliseconds left, waiters (member, score, ...), holders (member, score, ...)}; absent
-- keys are nil or empty.

local clock = redis.call('TIME')
return {
  string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000)),
  redis.call('GET', KEYS[2]),
  redis.call('GET', KEYS[1]),
  redis.call('PTTL', KEYS[1]),
  redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES'),
  redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES'),
}
