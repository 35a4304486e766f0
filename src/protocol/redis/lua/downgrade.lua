-- From writer to reader, in place: nobody can come between.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, keep
-- Returns 1, also where it is a reader already, or 0: the hold had ended.

--@include queue.lua
local owner, keep = ARGV[1], ARGV[2]

bury()
local holder, its = lone_holder()
if holder == owner and its then
  local c = parts_of(its)
  local left = redis.call('PTTL', lock)
  local read = c.token .. ' ' .. c.since .. ' ' .. c.client .. ' 1 ' .. c.ttl .. ' ' .. c.metadata
  redis.call('HSET', claims, owner, read, 'room', whole, 'held', 1)
  redis.call('ZADD', expiries, now + left, owner)
  redis.call('SET', lock, marker, 'PX', left)
  outlive(keep)
  serve(keep)
  return 1
end
local reads = redis.call('HEXISTS', claims, owner) == 1 and not redis.call('ZSCORE', queue, owner)
return reads and 1 or 0
