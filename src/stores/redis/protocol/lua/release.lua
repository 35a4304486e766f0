-- End a claim, held or waiting, and hand on what becomes free. Only its owner can.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, keep; where the server is one of several, the largest number of a claim that is meant, and "foreign" if
--       another of them has told the claim of a foreign holder; behind them "paused": see claims.lua
-- Returns 1, or 0: there was none.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local owner, keep, met_foreign = ARGV[1], ARGV[2], ARGV[4] == 'foreign'
local last_meant = ARGV[3] and ARGV[3]:match('^%d+$')

-- One of several servers may hear of the end of a claim when its client has claimed anew, with a larger number.
local function is_meant(number) return not last_meant or number <= last_meant end

-- Usually nobody waits. Then a release is two calls: the compare-and-delete of the documented pattern, where the fence
-- is read together with the value to compare.
local holds_alone = found[1] and found[1]:sub(22, 53) == owner
if holds_alone and not is_meant(found[1]:sub(1, 20)) then return 0 end
if holds_alone and not met_foreign then
  local last = found[2]
  if last and #last == 20 or not last and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
    return redis.call('DEL', KEYS[1])
  end
end

local clock = redis.call('TIME')
--@include claims.lua

-- Usually the first waiter wants to hold alone, too. Then a hand-over needs its claim and nothing else.
local is_usual = not is_paused and not met_foreign and not looks_around
if holds_alone and found[2] and is_usual and not found[2]:find('foreign', 21, true) then
  local c = parts_of(first_in(waiters) or '')
  if c and c.weight == whole then
    strike(waiters, c.owner, c.text)
    hold_alone(c)
    notify(c, 'granted')
    return 1
  end
end

if not found[1] then
  -- A waiting claim leaves also where the lock's key is of another type. Otherwise it would be granted when that key is
  -- gone, and its client, which has been refused, would not know.
  local there = redis.pcall('GET', lock)
  if type(there) == 'table' then
    local c = there.err:find('WRONGTYPE', 1, true) and claim_in(waiters, owner)
    if not c then return there end
    if not is_meant(c.token) then return 0 end
    strike(waiters, owner, c.text)
    return 1
  end
end

--@include state.lua
--@include fairness.lua
--@include queue.lua
if met_foreign and note_seen() then know(last .. others, keep) end
local was_first = head() and head().owner == owner
local ends_hold, c = holds_alone, nil
if holds_alone then
  c, value, alone = alone, false, nil -- the key itself is overwritten, or deleted below
  if joined then count_holders() end
else
  local waiting = living(waiters, owner)
  local holding = not waiting and not alone and living(holders, owner)
  c = waiting or holding
  if c and not is_meant(c.token) then
    c = nil
  elseif waiting then
    strike_waiter(c)
  elseif holding then
    leave(c)
    ends_hold = true
  end
end
if ends_hold and not value and head() and leave_free() then
  redis.call('DEL', lock) -- first, as a server without memory lets a script go on that has written already
  know(last .. others, keep)
  notify(head(), 'look')
  return 1
end
serve(keep)
if holds_alone and not value then redis.call('DEL', lock) end
-- The next claim is the first now. Its client does not know yet that it has to look out for the end of the holder.
if was_first and head() then notify(head(), 'look') end
return c and 1 or 0
