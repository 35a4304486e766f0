-- A name is four keys in one hash slot:
--   lock     string  who holds: the claim of an exclusive holder, or "holdfast:shared held capacity" while several hold.
--                    Any other value: a client of another library holds. It is the key that those clients know
--   fence    string  the largest token ever drawn; with " others" behind it, `waiters` and `holders` may exist
--   waiters  zset    the claims that wait
--   holders  zset    the claims that hold together
-- A claim is text: "token owner since client weight capacity ttl metadata", where `since` is in microseconds and `ttl` in
-- milliseconds. In a set it is three members, each for one question:
--   claim         its token                the claims in the order of their arrival
--   owner         minus its token          where is the claim of this owner?
--   "end " owner  minus its end, in ms     whose time is up? They stand right before the first claim

local lock, fence, waiters, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local whole = 1073741824 -- the capacity of a mutex, and the weight of an exclusive claim

-- The parts of a claim; nil for any other text.
local function parts_of(text)
  local token, owner, since, client, weight, capacity, ttl, metadata =
    text:match('^(%d+) (%x+) (%d+) (%x+) (%d+) (%d+) (%d+) (.*)$')
  if not token or #token ~= 20 or #owner ~= 32 then return nil end
  return { text = text, token = token, owner = owner, since = since, client = client, weight = tonumber(weight),
    capacity = tonumber(capacity), ttl = tonumber(ttl), metadata = metadata }
end

local function write(c)
  c.text = table.concat({ c.token, c.owner, c.since, c.client, c.weight, c.capacity, c.ttl, c.metadata }, ' ')
end

local function add(set, c, ends)
  redis.call('ZADD', set, c.token, c.text, '-' .. c.token, c.owner, -ends, 'end ' .. c.owner)
end

local function strike(set, owner, c)
  redis.call('ZREM', set, 'end ' .. owner, owner, c and c.text or owner)
end

-- The claim of an owner in a set, or nil. Scores are exact up to 2^53: tokens beyond may share one.
local function claim_in(set, owner)
  local score = redis.call('ZSCORE', set, owner)
  if not score then return nil end
  score = score:sub(2)
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', set, score, score)) do
    if text:sub(22, 53) == owner then return parts_of(text) end
  end
end
