-- Who holds a name, and which claim is the first that waits. Include it behind claims.lua.

-- MGET does not tell a key of another type from no key. GET fails for it. That has to happen before anything is
-- written, because what a script has written before it fails stays written. The same is true for the reads below.
local value = found[1] or redis.call('GET', lock)
known = found[2] or redis.call('GET', fence)

local alone = value and parts_of(value) or nil -- the exclusive holder, if it is one of ours
local is_shared, held, capacity = false, 0, nil -- several hold; the sum of their weights, and of how much
if value and not alone then
  local sum, of = value:match('^holdfast:shared (%d+) (%d+)$')
  if sum then is_shared, held, capacity = true, tonumber(sum), tonumber(of) end
end

local first = first_in(waiters)
local next_up = first and parts_of(first) -- the first claim that waits
-- Nobody holds beside an exclusive holder, so `holders` matters only where the next claim would join it.
local is_plain = value and not is_shared and (not first or next_up and next_up.weight == whole)
local joined = not is_plain and first_in(holders)
