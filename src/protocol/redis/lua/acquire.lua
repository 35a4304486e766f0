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
local room, weight = tonumber(ARGV[6] or whole), tonumber(ARGV[7] or whole)

-- Keys of a wrong type are found here, before anything is written.
local holder, its = lone_holder()
redis.call('ZCARD', queue)
redis.call('HLEN', claims)

bury()
local mine = place_of(owner)
if mine then return mine end

local in_use = tonumber(redis.call('HGET', claims, 'room') or (its and whole or room))
if in_use ~= room then return { 3, in_use } end

if not holder then serve(keep) end -- one may have died, and nobody have looked since
local free = lone_holder() and 0 or room - held()
local fits = weight <= free and redis.call('EXISTS', queue) == 0
if not fits and not wait then return { 2 } end

claim = draw(keep) .. ' ' .. micros .. ' ' .. claim
if fits and weight == whole then
  grant(owner, parts_of(claim), claim, keep)
else
  redis.call('HSET', claims, owner, claim, 'room', room)
  redis.call('ZADD', expiries, now + ttl, owner)
  if fits then
    grant(owner, parts_of(claim), claim, keep)
  else
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
    redis.call('ZADD', queue, (last or 0) + 1, owner)
    outlive(keep)
  end
end
return place_of(owner)
