-- Where a claim stands. Keeps it for one more ttl, and sees whether the name can be handed on: a holder may have
-- died.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, token (empty: not known), ttl, keep; behind them "paused": see claims.lua
-- Returns {1, token, 0, -1, 0}: held; a place (see `waits` in queue.lua); or nil: no such claim lives.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local owner, token, ttl, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- Usually a client looks because it was notified of its grant. Then a look is two calls.
local value = found[1]
if value and value:sub(22, 53) == owner and (token == '' or value:sub(1, 20) == token) then
  redis.call('PEXPIRE', KEYS[1], ttl)
  return { 1, value:sub(1, 20), 0, -1, 0 }
end

local clock = redis.call('TIME')
--@include claims.lua

-- Usually another claim waits before one that looks without having been notified, behind an exclusive holder. Then it is
-- kept, and nothing else can have changed.
local is_plain = not is_paused and token ~= '' and value and found[2] and not found[2]:find('foreign', 21, true)
if is_plain and is_claim(value) and value:sub(22, 53) ~= owner then
  local first = first_in(waiters)
  local is_behind = first and is_claim(first) and first:sub(22, 53) ~= owner
  local place = is_behind and redis.call('ZSCORE', waiters, owner)
  local ends = place and tonumber(place) == -tonumber(token) and redis.call('ZSCORE', waiters, 'end ' .. owner)
  if ends and -ends > now then
    redis.call('ZADD', waiters, ends_after(ttl), 'end ' .. owner)
    outlive(waiters, keep, keep)
    outlive(fence, keep, keep)
    return { 0, token, 0, redis.call('PTTL', lock), 0 }
  end
end

--@include state.lua
--@include fairness.lua
--@include queue.lua
return look_again(owner, token, ttl, keep)
