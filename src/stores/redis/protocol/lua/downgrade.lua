-- From writer to reader, in place: nobody can come between.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, keep
-- Returns 1, also where it is a reader already, or 0: the hold had ended.

--@include queue.lua
local owner, keep = ARGV[1], ARGV[2]

bury()
local its = holder == owner and lone_claim()
if its then
  local c = parts_of(its)
  local left = math.max(1, redis.call('PTTL', lock))
  room, held = whole, 1
  redis.call('HSET', claims, owner, 'h' .. c.token .. ' ' .. c.since .. ' ' .. c.client .. ' 1 ' .. c.ttl .. ' ' .. c.metadata,
    'room', room, 'held', held)
  redis.call('ZADD', expiries, now + left, owner)
  redis.call('SET', lock, marker, 'PX', left)
  holder = marker
  outlive(keep)
  serve(keep)
  return 1
end
local _, reads = claim_at(owner)
return reads and 1 or 0
