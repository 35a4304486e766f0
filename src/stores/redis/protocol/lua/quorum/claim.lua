-- Claim a name at one of several servers, or keep the claim for one more ttl.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, ttl, keep, wait (1: queue up; 0: be refused), the claim's "client weight capacity ttl =accepted/oldest
--       metadata", the proposed token (zeros: only the clock is asked for); and for readers: capacity, weight.
--       Times in milliseconds. Behind them "paused" and its end: see claims.lua.
-- Returns a vote (see vote.lua), or {2, blocker, clock}: refused, {3, capacity}: in use with that capacity, or
-- {4}: paused. Then nothing of this claim was written.
--
-- Carried out twice for one owner it gives the same place again. A claim of the owner with a smaller number ends: its
-- client has withdrawn it, and does not know yet that this server has heard of that.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local clock = redis.call('TIME')
local token = ARGV[6]
if token == ('0'):rep(20) then return { 2, '', clock[1] .. ('00000' .. clock[2]):sub(-6) } end -- asks for the clock

--@include furthest.lua
-- Usually nobody holds or waits, and the number is above the fence (see grant.lua). Then a claim is four calls.
if not found[1] and not ARGV[7] then
  local last = found[2]
  if last and #last == 20 or not last and redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[4]) == 0 then
    local micros = clock[1] .. ('00000' .. clock[2]):sub(-6)
    local limit = string.format('%020.0f', micros + furthest)
    local rest, accepted = ARGV[5], ARGV[5]:find('=', 1, true)
    local oldest = rest:match('^/(%d+) ', accepted + 21)
    local is_old = oldest ~= '0' and token <= string.format('%020.0f', micros - oldest * 1000)
    if token > (last or ('0000' .. micros):sub(-20)) and token <= limit and not is_old then
      rest = rest:sub(1, accepted) .. token .. rest:sub(accepted + 21)
      if redis.call('SET', KEYS[1], token .. ' ' .. ARGV[1] .. ' ' .. micros .. ' ' .. rest, 'NX', 'PX', ARGV[2]) then
        redis.call('SET', KEYS[2], token, 'PX', ARGV[3])
        return { 1, token, token, token, micros, 0, micros }
      end
    end
  end
end

--@include claims.lua
local owner, ttl, keep, wait = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local wanted, weight = whole, whole
if ARGV[7] and ARGV[8] then
  wanted, weight = tonumber(ARGV[7]), tonumber(ARGV[8])
end
local function new_claim() return parts_of(token .. ' ' .. owner .. ' ' .. micros .. ' ' .. ARGV[5]) end

-- Usually one claim holds alone, here or behind one that came before it, and none that waits has ended.
local is_usual = weight == whole and not is_paused and found[1] and found[2] and not found[2]:find('foreign', 21, true)
local holder = is_usual and parts_of(found[1])
local front = holder and #found[2] > 20 and first_in(waiters)
if holder and not is_end(front) then
  local first_waiter = front and parts_of(front)
  if holder.owner == owner and holder.token >= token then
    redis.call('PEXPIRE', lock, ttl)
    outlive(fence, keep, keep)
    return { 1, holder.token, accepted_of(holder) or none:sub(2), found[2]:sub(1, 20), holder.since,
      first_waiter and goes_before(first_waiter, holder) and 1 or 0, micros }
  end
  local c = new_claim()
  local is_behind = holder.owner ~= owner and goes_before(holder, c)
    and (not front or first_waiter and goes_before(first_waiter, c))
  if is_behind and not (front and redis.call('ZSCORE', waiters, owner)) then
    if not wait then return { 2, holder.owner, micros } end
    know(found[2]:sub(1, 20) .. others, keep)
    add(waiters, c.token, owner, c.text, ttl)
    outlive(waiters, 2 * ttl, keep)
    return { 0, c.token, front and 0 or 1, front and -1 or redis.call('PTTL', lock), 0, holder.owner, micros }
  end
end

--@include state.lua
--@include fairness.lua
--@include queue.lua
--@include vote.lua
local function end_former()
  local waiting = head() and claim_in(waiters, owner)
  local holding = own_hold(owner) -- a clock that was set back may have revived it
  local others_move_up = false
  if waiting and waiting.token < token then
    others_move_up = head().owner == owner
    strike_waiter(waiting)
  end
  if holding and holding.token < token then
    others_move_up = true
    end_hold(holding)
    know(last .. others, keep)
  end
  -- The next claim may be the first now, and its client does not know that it has to look out for the end of the holder.
  if others_move_up and head() then notify(head(), 'look') end
end
end_former()
local mine = look_again(owner, '', ttl, keep)
if mine then
  if mine[1] == 0 and mine[3] == 1 then inquire(head()) end
  return vote_for(owner, mine)
end

local in_use = alone and whole or held > 0 and capacity or head() and head().capacity or wanted
if in_use ~= wanted then return { 3, in_use } end

local c = new_claim()
local first = head()
local goes_first = not first or goes_before(c, first)
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
