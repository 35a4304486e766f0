-- What a name is like now: who holds, and who is the first that waits. It stands behind claims.lua.

-- MGET takes a key of another type for none; GET fails. It does before anything is written, since what a script has
-- written when it fails stays written. So do the other reads at the head of a script.
local value = found[1] or redis.call('GET', lock)
local known = found[2] or redis.call('GET', fence)

local alone = value and parts_of(value) or nil -- the exclusive holder, if it is one of ours
local is_shared, held, capacity = false, 0, nil -- several hold; the sum of their weights, and of how much
if value and not alone then
  local sum, of = value:match('^holdfast:shared (%d+) (%d+)$')
  if sum then is_shared, held, capacity = true, tonumber(sum), tonumber(of) end
end

local first = first_in(waiters)
local next_up = first and parts_of(first) -- the first claim that waits
-- An exclusive holder has no company. So who waits for that alone need not look for it.
local is_plain = value and not is_shared and (not first or next_up and next_up.weight == whole)
local joined = not is_plain and first_in(holders)
