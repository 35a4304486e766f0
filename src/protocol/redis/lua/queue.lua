-- What the scripts have in common; put at the head of those that include it.
--
-- A name is five keys in one hash slot:
--   lock      string   the holder's owner id, or a marker while several hold; the key that foreign clients know
--   fence     string   "last" or "last owner claim": the largest token ever drawn, and who drew the lock alone with what
--   queue     zset     owners that wait, in the order of their coming
--   claims    hash     owner -> claim, for those that wait or hold together; `room` and `held`, their sums
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

local function parts_of(claim)
  local token, since, client, weight, ttl, metadata = claim:match('^(%d+) (%d+) (%x+) (%d+) (%d+) (.*)$')
  return { token = token, since = since, client = client, weight = tonumber(weight), ttl = ttl, metadata = metadata }
end

-- The lock's only holder: "owner", if it is one of ours its claim too.
local function lone_holder()
  local owner = redis.call('GET', lock)
  if not owner or owner == marker then return nil end
  local known, claim = string.match(redis.call('GET', fence) or '', '^%d+ (%x+) (.*)$')
  if known ~= owner then claim = nil end
  return owner, claim
end

local function next_token(last)
  local floor = ('0000' .. micros):sub(-20)
  if floor > last then return floor end
  local low = tonumber(last:sub(-9)) + 1
  if low <= 999999999 then return last:sub(1, 11) .. string.format('%09d', low) end
  return string.format('%011d', tonumber(last:sub(1, 11)) + 1) .. '000000000'
end

-- A new token. What the fence says of the lock's holder stays.
local function draw(keep)
  local known = redis.call('GET', fence) or '00000000000000000000'
  local token = next_token(known:sub(1, 20))
  redis.call('SET', fence, token .. known:sub(21), 'PX', math.max(redis.call('PTTL', fence), tonumber(keep)))
  return token
end

local function tell(client, what, owner, token)
  redis.call('PUBLISH', 'holdfast:client:' .. client, what .. ' ' .. owner .. ' ' .. token)
end

local function held()
  return tonumber(redis.call('HGET', claims, 'held') or 0)
end

-- Side keys live as long as anybody may need them, and a while longer: nothing stays behind for ever.
local function outlive(keep)
  for _, key in ipairs({ claims, expiries, queue }) do
    if redis.call('PTTL', key) < tonumber(keep) then redis.call('PEXPIRE', key, keep) end
  end
end

local function strike(owner)
  redis.call('ZREM', expiries, owner)
  redis.call('HDEL', claims, owner)
  local waited = redis.call('ZREM', queue, owner) == 1
  if redis.call('EXISTS', expiries) == 0 then redis.call('DEL', claims) end -- room and held
  return waited
end

-- Strikes a claim off, waiting or holding together with others.
local function forget(owner)
  local claim = redis.call('HGET', claims, owner)
  local left = held()
  if strike(owner) or not claim then return end
  left = left - parts_of(claim).weight
  if left > 0 then
    redis.call('HSET', claims, 'held', left)
  else
    redis.call('HDEL', claims, 'held')
    if redis.call('GET', lock) == marker then redis.call('DEL', lock) end
  end
end

-- Strikes off claims whose time is up: holders whose client died, tickets that nobody kept.
local function bury()
  local dead = redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, bury_at_most)
  for _, owner in ipairs(dead) do forget(owner) end
end

-- While several hold, outsiders see a marker that ends no sooner than the last of them.
local function mark(ttl)
  local left = redis.call('PTTL', lock)
  if left < tonumber(ttl) then redis.call('SET', lock, marker, 'PX', ttl) end
end

-- Grants a claim that has its token, and waits no longer.
local function grant(owner, c, claim, keep)
  keep = math.max(tonumber(keep), 2 * c.ttl)
  claim = c.token .. ' ' .. micros .. claim:sub(#c.token + #c.since + 2)
  if c.weight == whole then
    redis.call('SET', lock, owner, 'PX', c.ttl)
    local last = (redis.call('GET', fence) or c.token):sub(1, 20)
    redis.call('SET', fence, last .. ' ' .. owner .. ' ' .. claim, 'PX', keep)
  else
    redis.call('ZREM', queue, owner)
    redis.call('HSET', claims, owner, claim)
    redis.call('HINCRBY', claims, 'held', c.weight)
    redis.call('ZADD', expiries, now + c.ttl, owner)
    mark(c.ttl)
    outlive(keep)
  end
end

-- Hands the name on: to as many of the first waiters as fit together, and tells exactly those.
local function serve(keep)
  local holder = redis.call('GET', lock)
  if holder and holder ~= marker then return end
  for turn = 0, grant_at_most do
    local owner = redis.call('ZRANGE', queue, 0, 0)[1]
    if not owner then return end
    local ends = redis.call('ZSCORE', expiries, owner)
    local sums = redis.call('HMGET', claims, owner, 'room', 'held')
    local claim = sums[1]
    if not claim or not ends or tonumber(ends) <= now then
      forget(owner)
    else
      local c = parts_of(claim)
      if c.weight > (sums[2] or whole) - (sums[3] or 0) then return end
      if turn == grant_at_most then return tell(c.client, 'look', owner, c.token) end
      if c.weight == whole then strike(owner) end
      grant(owner, c, claim, keep)
      tell(c.client, 'granted', owner, c.token)
      if c.weight == whole then return end
    end
  end
end

-- Where a claim stands: {granted, token, head, milliseconds until the first holder's time is up or -1, silent}, where
-- `silent` says that whoever holds will not tell when it ends; nil where there is none.
local function place_of(owner)
  local holder, its = lone_holder()
  if holder == owner and its then return { 1, parts_of(its).token, 0, -1, 0 } end
  local claim = redis.call('HGET', claims, owner)
  if not claim then return nil end
  local token = parts_of(claim).token
  if not redis.call('ZSCORE', queue, owner) then return { 1, token, 0, -1, 0 } end
  local head = redis.call('ZRANGE', queue, 0, 0)[1] == owner
  local left = -1
  if holder then
    left = redis.call('PTTL', lock)
  else
    local first = redis.call('ZRANGE', expiries, 0, 0, 'WITHSCORES')[2]
    if first then left = math.max(0, first - now) end
  end
  return { 0, token, head and 1 or 0, left, (holder and not its) and 1 or 0 }
end
