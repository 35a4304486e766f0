-- What the scripts have in common; put at the head of those that include it.
--
-- A name is five keys in one hash slot:
--   lock      string   the holder's owner id, or a marker while several hold; the key that foreign clients know
--   fence     string   "last" or "last owner claim": the largest token ever drawn, and who drew the lock alone with what
--   queue     zset     owners that wait, in the order of their coming
--   claims    hash     owner -> "w" or "h" and claim, for those that wait or hold together; `room` and `held`, their sums
--   expiries  zset     owner -> when its claim ends unless kept, for the same
-- where a claim is "token since client weight ttl metadata": since when it waits or holds in microseconds, everything
-- else in milliseconds, of the server's clock. A token is text of 20 digits: exact, and compared as it stands.

local lock, fence, queue, claims, expiries = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local whole = 1073741824 -- the room of a mutex, and the weight of a writer
local marker = 'holdfast:shared'
local bury_at_most, grant_at_most = 64, 128 -- in one call; what is left is for the next

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local micros = clock[1] .. ('00000' .. clock[2]):sub(-6)

-- What stands there, read once: whatever changes it below keeps these in step. Keys of a wrong type are found here (and
-- expiries by `bury`, which comes next), before anything is written: what a script has done when it fails stays done.
redis.call('ZRANGE', queue, 0, 0)
local holder = redis.call('GET', lock) -- an owner, the marker, something foreign, or false
local known = redis.call('GET', fence) or '00000000000000000000'
local sums = redis.call('HMGET', claims, 'room', 'held')
local room, held = sums[1] and tonumber(sums[1]), tonumber(sums[2] or 0)

local function is_held_alone() return holder and holder ~= marker end

-- The claim of the lock's only holder, if it is one of ours.
local function lone_claim()
  local owner, claim = known:match('^%d+ (%x+) (.*)$')
  return is_held_alone() and owner == holder and claim or nil
end

local function parts_of(claim)
  local token, since, client, weight, ttl, metadata = claim:match('^(%d+) (%d+) (%x+) (%d+) (%d+) (.*)$')
  return { token = token, since = since, client = client, weight = tonumber(weight), ttl = ttl, metadata = metadata }
end

-- The claim of one that waits or holds together with others, and whether it holds.
local function claim_at(owner)
  local entry = redis.call('HGET', claims, owner)
  if entry then return entry:sub(2), entry:sub(1, 1) == 'h' end
end

local function next_token(last)
  local floor = ('0000' .. micros):sub(-20)
  if floor > last then return floor end
  local low = tonumber(last:sub(-9)) + 1
  if low <= 999999999 then return last:sub(1, 11) .. string.format('%09d', low) end
  return string.format('%011d', tonumber(last:sub(1, 11)) + 1) .. '000000000'
end

local function know(text, keep)
  known = text
  redis.call('SET', fence, text, 'PX', math.max(redis.call('PTTL', fence), tonumber(keep)))
end

local function tell(client, what, owner, token)
  redis.pcall('PUBLISH', 'holdfast:client:' .. client, what .. ' ' .. owner .. ' ' .. token) -- a lost word costs time only
end

-- Side keys live as long as anybody may need them, and a while longer: nothing stays behind for ever. The fence is
-- one of them while somebody waits, too: forgotten then, the next holder would have no token on record.
local function outlive(keep)
  for _, key in ipairs({ claims, expiries, queue, fence }) do
    if redis.call('PTTL', key) < tonumber(keep) then redis.call('PEXPIRE', key, keep) end
  end
end

local function strike(owner)
  redis.call('ZREM', expiries, owner)
  redis.call('ZREM', queue, owner)
  if redis.call('EXISTS', expiries) == 1 then
    redis.call('HDEL', claims, owner)
  else
    redis.call('DEL', claims)
    room = nil
  end
end

-- Strikes a claim off, waiting or holding together with others.
local function forget(owner)
  local claim, holds = claim_at(owner)
  strike(owner)
  if not holds then return end
  held = math.max(0, held - parts_of(claim).weight)
  if room then redis.call('HSET', claims, 'held', held) end
  if held == 0 and holder == marker then
    redis.call('DEL', lock)
    holder = false
  end
end

-- Strikes off claims whose time is up: holders whose client died, tickets that nobody kept. Where the server has evicted
-- the times, everybody gets one more ttl.
local function bury()
  if room and redis.call('EXISTS', expiries) == 0 then
    local all = redis.call('HGETALL', claims)
    for i = 1, #all, 2 do
      if all[i] ~= 'room' and all[i] ~= 'held' then
        redis.call('ZADD', expiries, now + parts_of(all[i + 1]:sub(2)).ttl, all[i])
      end
    end
    redis.call('PEXPIRE', expiries, redis.call('PTTL', claims))
  end
  local dead = redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, bury_at_most)
  for _, owner in ipairs(dead) do forget(owner) end
end

-- While several hold, outsiders see a marker that ends no sooner than the last of them.
local function mark(ttl)
  if holder == marker and redis.call('PTTL', lock) >= tonumber(ttl) then return end
  redis.call('SET', lock, marker, 'PX', ttl)
  holder = marker
end

-- Grants a claim that has its token. One that wants the lock alone has been struck off. Were the token not above that
-- of the last holder, because the server evicted a key, its claimant could not be fenced: it gets another, and finds it.
-- The largest token stays on record, whoever draws it and whatever the server has evicted.
local function grant(owner, c, claim, keep)
  keep = math.max(tonumber(keep), 2 * c.ttl)
  claim = claim:sub(#c.token + #c.since + 2)
  local last = known:sub(1, 20)
  local before = known:match('^%d+ %x+ (%d+)')
  if before and before >= c.token then c.token = next_token(last) end
  if c.token > last then last = c.token end
  claim = c.token .. ' ' .. micros .. claim
  if c.weight == whole then
    redis.call('SET', lock, owner, 'PX', c.ttl)
    holder = owner
    know(last .. ' ' .. owner .. ' ' .. claim, keep)
  else
    if last ~= known:sub(1, 20) then know(last .. known:sub(21), keep) end
    held = held + c.weight
    redis.call('ZREM', queue, owner)
    redis.call('HSET', claims, owner, 'h' .. claim, 'held', held)
    redis.call('ZADD', expiries, now + c.ttl, owner)
    mark(c.ttl)
    outlive(keep)
  end
end

local function is_over(owner) return tonumber(redis.call('ZSCORE', expiries, owner) or 0) <= now end

local function nudge(owner)
  local claim = owner and claim_at(owner)
  if not claim then return end
  local c = parts_of(claim)
  tell(c.client, 'look', owner, c.token)
end

-- Whether a claim fits beside those that hold. One for the whole room needs the lock itself free, too: the server may
-- have evicted what it knew of others.
local function fits(weight, size)
  return not is_held_alone() and weight <= size - held and (weight < whole or not holder)
end

-- Hands the name on: to as many of the first waiters as fit together, and tells exactly those. Where there is more to do
-- than one call should take, somebody who lives is told to look.
local function serve(keep)
  for _ = 1, grant_at_most do
    local owner = not is_held_alone() and redis.call('ZRANGE', queue, 0, 0)[1]
    if not owner then return end
    local claim = claim_at(owner)
    if not claim or is_over(owner) then
      forget(owner)
    else
      local c = parts_of(claim)
      if not fits(c.weight, room or whole) then return end
      if c.weight == whole then strike(owner) end
      grant(owner, c, claim, keep)
      tell(c.client, 'granted', owner, c.token)
    end
  end
  local first = redis.call('ZRANGE', queue, 0, 0)[1]
  nudge(first and is_over(first) and redis.call('ZRANGE', expiries, -1, -1)[1] or first)
end

-- Milliseconds until the first holder's time is up, or -1.
local function holder_left()
  if is_held_alone() then return redis.call('PTTL', lock) end
  local first = redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]
  return first and math.max(0, first - now) or -1
end

local function is_silent() return is_held_alone() and not lone_claim() and 1 or 0 end

-- One more ttl for a claim that stands there. Of one that holds, something is written even where nothing changes, since
-- it was granted within this millisecond: WAIT waits for what its own connection has written.
local function keep_claim(owner, place, ttl, keep)
  if holder == owner then return redis.call('PEXPIRE', lock, ttl) end
  redis.call('ZADD', expiries, now + ttl, owner)
  if place[1] == 1 and not is_held_alone() then
    mark(ttl)
    redis.call('PEXPIRE', expiries, math.max(redis.call('PTTL', expiries), tonumber(keep)))
  end
  if place[1] == 0 and not redis.call('ZSCORE', queue, owner) then -- evicted
    redis.call('ZADD', queue, (redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0) + 1, owner)
  end
  outlive(keep)
end

-- Where a claim stands: {granted, token, head, holder_left, silent}, where `silent` says that whoever holds will not
-- tell when it ends; nil where there is none.
local function place_of(owner)
  -- Without its claim: it would wait behind itself, and keep its own lock alive by looking. It has to claim anew.
  if holder == owner and not lone_claim() then return nil end
  local claim, holds = holder == owner and lone_claim(), true
  if not claim then claim, holds = claim_at(owner) end
  if not claim then return nil end
  local token = claim:match('^%d+')
  if holds then return { 1, token, 0, -1, 0 } end
  local first = redis.call('ZRANGE', queue, 0, 0)[1]
  if first and first ~= owner and is_over(first) then return { 0, token, 1, 0, 0 } end -- dead ones are left: look again at once
  return { 0, token, first == owner and 1 or 0, holder_left(), is_silent() }
end
