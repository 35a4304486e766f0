-- All of a name. Writes nothing.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- Returns {now, fence, lock, its milliseconds left, claims (owner, claim, ...), queue (owners in order),
--          expiries (owner, end, ...)}; absent keys are nil or empty.

local clock = redis.call('TIME')
return {
  string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000)),
  redis.call('GET', KEYS[2]),
  redis.call('GET', KEYS[1]),
  redis.call('PTTL', KEYS[1]),
  redis.call('HGETALL', KEYS[4]),
  redis.call('ZRANGE', KEYS[3], 0, -1),
  redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES'),
}
