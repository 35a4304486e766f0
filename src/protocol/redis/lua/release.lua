-- End a claim, held or waiting, and hand on what becomes free. Only its owner can.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, keep
-- Returns 1, or 0: there was none.

-- Most of the time nobody waits. Three commands, then: the compare-and-delete of the documented pattern, and a look.
local alone = redis.call('GET', KEYS[1]) == ARGV[1]
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
