-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, ttl, keep (how long an unused name's token is remembered), wait (1: queue up; 0: be refused),
--       the claim's "client weight capacity ttl metadata"; and for readers and permits: capacity, weight.
--       Times in milliseconds. Behind them "paused" and its end: see claims.lua.
-- Returns the token: held at once; or a place (see `waits` in queue.lua), {2} refused: nothing was written, or
-- {3, capacity}: in use with that capacity, or {4}: paused, and nothing was written.
--
-- Carried out twice for one owner it gives the same place again: a reply may get lost, and a request be late.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local clock = redis.call('TIME')

-- Usually nobody holds or waits. Then an acquisition is four calls, and one more where the server remembers no token.
if not found[1] and not ARGV[6] then
  local last = found[2]
  if last and #last == 20 or not last and redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[4]) == 0 then
    local micros = clock[1] .. ('00000' .. clock[2]):sub(-6)
    local token = ('0000' .. micros):sub(-20)
    local claim = token .. ' ' .. ARGV[1] .. ' ' .. micros .. ' ' .. ARGV[5]
    if (not last or token > last) and redis.call('SET', KEYS[1], claim, 'NX', 'PX', ARGV[2]) then
      redis.call('SET', KEYS[2], token, 'PX', ARGV[3])
      return token
    end
  end
end

--@include claims.lua
local owner, ttl, keep, wait = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local wanted, weight = tonumber(ARGV[6]) or whole, tonumber(ARGV[7]) or whole
local function text_of(token) return token .. ' ' .. owner .. ' ' .. micros .. ' ' .. ARGV[5] end

-- A place behind all that wait.
local function queue_up(token, is_first)
  know(token .. others, keep)
  add(waiters, token, owner, text_of(token), ttl)
  if is_first then
    redis.call('PEXPIRE', waiters, keep)
  else
    outlive(waiters, 2 * ttl, keep)
  end
end

-- Usually a claim that has to wait does so behind an exclusive holder, to hold alone after it.
local is_plain = weight == whole and found[1] and found[2] and not found[2]:find('foreign', 21, true)
if is_plain and is_claim(found[1]) and found[1]:sub(22, 53) ~= owner then
  local first = first_in(waiters)
  if not is_end(first) and not (first and redis.call('ZSCORE', waiters, owner)) then
    if not wait then return { 2 } end
    local token = next_token(found[2]:sub(1, 20))
    queue_up(token, not first)
    return { 0, token, first and 0 or 1, first and -1 or redis.call('PTTL', lock), 0 }
  end
end

--@include state.lua
--@include fairness.lua
--@include queue.lua
local mine = look_again(owner, '', ttl, keep)
if mine then return mine end

local in_use = alone and whole or held > 0 and capacity or head() and head().capacity or wanted
if in_use ~= wanted then return { 3, in_use } end

local before = head()
local is_free = not before and fits(weight, wanted)
if is_paused or not is_free then
  if not wait then return { is_free and 4 or 2 } end
  see_foreign()
  local token = next_token(last)
  queue_up(token, not before)
  return waits(token, not before)
end
local c = parts_of(text_of(next_token(last)))
known = weight == whole and seen == 0 and c.token or c.token .. others
know(known, keep)
begin_hold(c, keep)
return c.token
