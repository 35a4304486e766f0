-- End a claim, held or waiting, and hand on what becomes free. Only its owner can.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, keep
-- Returns 1, or 0: there was none.

-- Most of the time nobody waits. Three commands, then: the compare-and-delete of the documented pattern, and a look.
local there = redis.pcall('GET', KEYS[1])
if type(there) == 'table' then
  -- An error. For a key of another type: another client has the name. A claim that waits leaves all the same, or it would
  -- be served when that key is gone, and its client, which has been refused, would not know. Types first, then writes.
  local entry = there.err:find('WRONGTYPE', 1, true) and redis.call('HGET', KEYS[4], ARGV[1])
  if not entry or entry:sub(1, 1) ~= 'w' then return there end
  redis.call('ZRANGE', KEYS[3], 0, 0)
  redis.call('ZREM', KEYS[5], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  if redis.call('EXISTS', KEYS[5]) == 1 then
    redis.call('HDEL', KEYS[4], ARGV[1])
  else
    redis.call('DEL', KEYS[4])
  end
  return 1
end
local alone = there == ARGV[1]
if alone and redis.call('EXISTS', KEYS[5]) == 0 then return redis.call('DEL', KEYS[1]) end

--@include queue.lua
local owner, keep = ARGV[1], ARGV[2]

bury()
local first = redis.call('ZRANGE', queue, 0, 0)[1]
local found = alone or redis.call('HEXISTS', claims, owner) == 1
if alone then
  redis.call('DEL', lock)
  holder = false
elseif found then
  forget(owner)
end
serve(keep)
-- The next is first now, and does not know that it has to look out for the holder.
if first == owner then nudge(redis.call('ZRANGE', queue, 0, 0)[1]) end
return found and 1 or 0
