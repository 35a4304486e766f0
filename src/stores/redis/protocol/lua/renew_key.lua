-- One more ttl for a hold of a name whose slot is on its way between two servers of a cluster. One of them may have some
-- of the name's keys, and the other one the rest: then renew.lua runs on neither. This one needs a single key at a time.
-- The fence is not touched: it lives much longer than a slot takes.
--
-- KEYS: lock, and then holders (see claims.lua)
-- ARGV: owner, ttl, keep
-- Returns 1: kept, 2: several hold, and `holders` tells whether this one is among them, or 0: not a hold of this owner.

local key, owner, ttl, keep = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local kind = redis.call('TYPE', key).ok

if kind == 'string' then
  local value = redis.call('GET', key)
  if value:sub(22, 53) == owner then
    redis.call('PEXPIRE', key, ttl)
    return 1
  end
  if not value:find('^holdfast:shared %d+ %d+$') then return 0 end
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), ttl))
  return 2
elseif kind == 'zset' then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local ends = redis.call('ZSCORE', key, 'end ' .. owner)
  if not ends or -ends <= now then return 0 end
  redis.call('ZADD', key, string.format('-%d', now + ttl), 'end ' .. owner)
  local left = redis.call('PTTL', key)
  if left >= 0 and left < keep then redis.call('PEXPIRE', key, keep) end
  return 1
end
return 0
