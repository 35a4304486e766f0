-- Take a place in the queue of a name. Whoever is served at once holds.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, client, weight, room, ttl, wait (1: queue up; 0: be refused), keep (how long an unused name's token is
--       remembered), metadata; times in milliseconds
-- Returns {1, token, ...} or another place (see place_of), {2} refused: nothing was written, or {3, room}: in use with
-- that room.
--
-- Carried out twice for one owner it gives the same place again: a reply may get lost, and a request be late.

-- Most of the time nobody is there. Five commands, then.
local time = redis.call('TIME')
if ARGV[3] == '1073741824' and redis.call('EXISTS', KEYS[5]) == 0 then
  local known = redis.call('GET', KEYS[2])
  local floor = time[1] .. string.format('%06d', time[2])
  local last = known and known:match('^%d+') or '0'
  if #floor > #last or (#floor == #last and floor > last) then
    if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[5]) then
      local since = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
      redis.call('SET', KEYS[2],
        floor .. ' ' .. ARGV[1] .. ' ' .. floor .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[5] .. ' ' .. since .. ' ' .. ARGV[8],
        'PX', ARGV[7])
      return { 1, floor, 0, -1, 0 }
    end
  end
end

--@include queue.lua
local owner, client, weight, room, ttl, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[7]
local wait, metadata = ARGV[6] == '1', ARGV[8]

-- Keys of a wrong type are found here, before anything is written.
local holder, its = lone_holder()
redis.call('ZCARD', queue)
redis.call('HLEN', claims)

bury()
local mine = place_of(owner)
if mine then return mine end

local in_use = redis.call('HGET', claims, 'room')
if its then in_use = string.format('%d', whole) end
if in_use and in_use ~= room then return { 3, in_use } end

serve(keep) -- a holder may have died, and nobody have looked since
holder = lone_holder()
local free = holder and 0 or tonumber(room) - held()
local fits = tonumber(weight) <= free and redis.call('EXISTS', queue) == 0
if not fits and not wait then return { 2 } end

local claim = claim_of(draw(keep), client, weight, ttl, now, metadata)
if fits and weight == string.format('%d', whole) then
  grant(owner, claim, keep)
else
  redis.call('HSET', claims, owner, claim, 'room', room)
  redis.call('ZADD', expiries, now + ttl, owner)
  local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
  redis.call('ZADD', queue, (last or 0) + 1, owner)
  outlive(keep)
  if fits then grant(owner, claim, keep) end
end
return place_of(owner)
