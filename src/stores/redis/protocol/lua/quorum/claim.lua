-- Claim a name at one of several servers, or keep the claim for one more ttl.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, ttl, keep, wait (1: queue up; 0: be refused), the claim's "client weight capacity ttl =accepted
--       metadata", the proposed token (zeros: only the clock is asked for); and for readers: capacity, weight.
--       Times in milliseconds. Behind them "paused" and the guard: see claims.lua.
-- Returns a vote (see vote.lua), or {2, blocker, clock}: refused, {3, capacity}: in use with that capacity, or
-- {4}: paused. Then nothing was written.
--
-- Carried out twice for one owner it gives the same place again.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local clock = redis.call('TIME')
--@include claims.lua
local owner, ttl, keep, wait, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1', ARGV[6]
local wanted, weight = whole, whole
if ARGV[7] and ARGV[8] then
  wanted, weight = tonumber(ARGV[7]), tonumber(ARGV[8])
end
local function new_claim() return parts_of(token .. ' ' .. owner .. ' ' .. micros .. ' ' .. ARGV[5]) end

if token == none:sub(2) then return { 2, '', micros } end -- asks for the clock

-- Usually nobody holds or waits. Then a claim is four calls.
if not found[1] and not is_paused and weight == whole then
  local fence_text = found[2]
  local is_known = fence_text and #fence_text == 20
  if is_known or not fence_text and redis.call('EXISTS', fence, waiters, holders) == 0 then
    local c = new_claim()
    local fits_fence = is_acceptable(token, c)
    if fits_fence then set_accepted(c, token) end
    c.text = token .. ' ' .. owner .. ' ' .. micros .. ' ' .. c.rest
    local fence_token = fits_fence and token or fence_now()
    if redis.call('SET', lock, c.text, 'NX', 'PX', ttl) then
      redis.call('SET', fence, fence_token, 'PX', keep)
      return { 1, token, accepted_of(c), fence_token, micros, 0, micros }
    end
  end
end

--@include state.lua
--@include fairness.lua
--@include queue.lua
--@include vote.lua
local mine = look_again(owner, '', ttl, keep)
if mine then
  if mine[1] == 0 and mine[3] == 1 then inquire(head()) end
  return vote_for(owner, mine)
end

local in_use = alone and whole or held > 0 and capacity or head() and head().capacity or wanted
if in_use ~= wanted then return { 3, in_use } end

local c = new_claim()
local first = head()
local goes_first = not first or c.token < first.token or c.token == first.token and owner < first.owner
local is_free = goes_first and fits(weight, wanted)
if is_paused or not is_free then
  if not wait then return is_free and { 4 } or { 2, blocker_of(owner), micros } end
  see_foreign()
  know(last .. others, keep)
  add(waiters, c.token, owner, c.text, ttl)
  outlive(waiters, 2 * ttl, keep)
  if goes_first then inquire(c) end
  return vote_for(owner, waits(c.token, goes_first))
end
if weight == whole and seen == 0 and not first then others = '' end
known = last .. others
know(known, keep)
begin_hold(c, keep)
return vote_for(owner, { 0, c.token, 0, -1, 0 })
