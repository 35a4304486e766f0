-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, ttl, keep (how long an unused name's token is remembered), wait (1: queue up; 0: be refused),
--       the claim's "client weight capacity ttl metadata"; and for those that do not want the lock alone: capacity, weight.
--       Times in milliseconds.
-- Returns the token: held at once; or a place (see `waits` in queue.lua), {2} refused: nothing was written, or
-- {3, capacity}: in use with that capacity.
--
-- Carried out twice for one owner it gives the same place again: a reply may get lost, and a request be late.

local found = redis.call('MGET', KEYS[1], KEYS[2])
--@include clock.lua
--@include claims.lua
local owner, ttl, keep, wait = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local wanted, weight = tonumber(ARGV[6] or whole), tonumber(ARGV[7] or whole)
local function claim_with(token) return parts_of(token .. ' ' .. owner .. ' ' .. micros .. ' ' .. ARGV[5]) end

-- Most of the time nobody is there. Four calls, then, and one more where the name is not remembered.
if weight == whole and not found[1] then
  local last = found[2]
  if last and #last == 20 or not last and redis.call('EXISTS', fence, waiters, holders) == 0 then
    local token = next_token(last or '')
    if redis.call('SET', lock, claim_with(token).text, 'NX', 'PX', ttl) then
      redis.call('SET', fence, token, 'PX', keep)
      return token
    end
  end
end

--@include queue.lua
local mine = look_again(owner, '', ttl, keep)
if mine then return mine end

local in_use = alone and whole or held > 0 and capacity or head() and head().capacity or wanted
if in_use ~= wanted then return { 3, in_use } end

local before = head()
local at_once = not before and fits(weight, wanted)
if not at_once and not wait then return { 2 } end

local c = claim_with(next_token(last))
if at_once then
  know(c.token .. (weight == whole and '' or ' others'), keep)
  begin_hold(c, keep)
  return c.token
end
know(c.token .. ' others', keep)
add(waiters, c, now + ttl)
if before then
  outlive(waiters, 2 * ttl, keep)
else
  redis.call('PEXPIRE', waiters, keep)
end
return waits(c.token, not before)
