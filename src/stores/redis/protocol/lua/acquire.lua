-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, ttl, keep (how long an unused name's token is remembered), wait (1: queue up; 0: be refused),
--       the claim's "client weight ttl metadata"; and for those that do not want the lock alone: room, weight.
--       Times in milliseconds.
-- Returns the token: held at once; or a place (see place_of), {2} refused: nothing was written, or {3, room}: in use with
-- that room.
--
-- Carried out twice for one owner it gives the same place again: a reply may get lost, and a request be late.

-- Most of the time nobody is there. Five commands, then.
if not ARGV[6] and redis.call('EXISTS', KEYS[5]) == 0 then
  local time = redis.call('TIME')
  local micros = time[1] .. ('00000' .. time[2]):sub(-6)
  local token = ('0000' .. micros):sub(-20)
  local known = redis.call('GET', KEYS[2])
  if (not known or token > known:sub(1, 20)) and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    redis.call('SET', KEYS[2], token .. ' ' .. ARGV[1] .. ' ' .. token .. ' ' .. micros .. ' ' .. ARGV[5], 'PX', ARGV[3])
    return token
  end
end

--@include queue.lua
local owner, ttl, keep, wait, claim = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1', ARGV[5]
local wanted, weight = tonumber(ARGV[6] or whole), tonumber(ARGV[7] or whole)

bury()
if holder == owner and not lone_claim() then -- its claim has been evicted; but nobody else knows its id
  strike(owner)
  local token = next_token(known:sub(1, 20))
  redis.call('SET', lock, owner, 'PX', ttl)
  know(token .. ' ' .. owner .. ' ' .. token .. ' ' .. micros .. ' ' .. claim, keep)
  return token
end
local mine = place_of(owner)
if mine then keep_claim(owner, mine, ttl, keep) end
serve(keep) -- a holder may have died, and nobody have looked since
if mine then return place_of(owner) end

local latest = redis.call('ZRANGE', expiries, -1, -1, 'WITHSCORES')[2]
if room and latest and tonumber(latest) <= now then -- nobody lives, there are only too many to bury at once
  redis.call('DEL', queue, claims, expiries)
  room, held = nil, 0
  if holder == marker then
    redis.call('DEL', lock)
    holder = false
  end
end
local in_use = room or lone_claim() and whole or wanted
if in_use ~= wanted then return { 3, in_use } end

local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
local at_once = not last[1] and fits(weight, wanted)
if not at_once and not wait then return { 2 } end

local token = next_token(known:sub(1, 20))
claim = token .. ' ' .. micros .. ' ' .. claim
know(token .. known:sub(21), keep)
if at_once then
  if weight < whole then
    room = wanted
    redis.call('HSET', claims, 'room', room)
  end
  grant(owner, parts_of(claim), claim, keep)
  return token
end
redis.call('HSET', claims, owner, 'w' .. claim, 'room', wanted)
redis.call('ZADD', expiries, now + ttl, owner)
redis.call('ZADD', queue, (last[2] or 0) + 1, owner)
outlive(keep)
return { 0, token, last[1] and 0 or 1, holder_left(), is_silent() }
