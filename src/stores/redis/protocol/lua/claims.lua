-- Claims, one by one. It stands behind what each script reads first: `found`, the values of lock and fence, and `clock`,
-- the server's time.
--
-- A name is four keys in one hash slot:
--   lock     string  who holds: the claim of an exclusive holder, or "holdfast:shared held capacity" while several hold.
--                    Any other value: a client of another library holds. It is the key that those clients know
--   fence    string  the largest token ever drawn; with text behind it, `waiters` and `holders` may exist: " others", or
--                    " foreign seen free turn" after a client of another library was waited for: see fairness.lua
--   waiters  zset    the claims that wait
--   holders  zset    the claims that hold together
-- A claim is text: "token owner since client weight capacity ttl metadata", where `since` is in microseconds and `ttl` in
-- milliseconds. In a set it is three members, each for one question:
--   claim         its token                the claims in the order of their arrival
--   owner         minus its token          where is the claim of this owner?
--   "end " owner  minus its end, in ms     whose time is up? They stand right before the first claim

local lock, fence, waiters, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local whole = 1073741824 -- the capacity of a mutex, and the weight of an exclusive claim
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local micros = clock[1] .. ('00000' .. clock[2]):sub(-6)
local function ends_after(ttl) return string.format('-%d', now + ttl) end -- a number would cost the server more

-- Whether nothing is to be granted: the server may have forgotten who holds (see guard.lua). The next call that is not
-- paused hands the name on.
local is_paused = ARGV[#ARGV] == 'paused'

-- The parts of a claim; nil for any other text. Behind `since` comes what never changes, the `rest`.
local function parts_of(text)
  local token, owner, since, rest, client, weight, capacity, ttl =
    text:match('^(%d+) (%x+) (%d+) ((%x+) (%d+) (%d+) (%d+) .*)$')
  if not token or #token ~= 20 or #owner ~= 32 then return nil end
  return { text = text, token = token, owner = owner, since = since, rest = rest, client = client,
    weight = tonumber(weight), capacity = tonumber(capacity), ttl = ttl }
end

-- From now on it is held.
local function begin_now(c)
  c.since = micros
  c.text = c.token .. ' ' .. c.owner .. ' ' .. micros .. ' ' .. c.rest
end

local function add(set, token, owner, text, ttl)
  redis.call('ZADD', set, token, text, '-' .. token, owner, ends_after(ttl), 'end ' .. owner)
end

local function strike(set, owner, text) redis.call('ZREM', set, 'end ' .. owner, owner, text) end

-- The claim of an owner in a set, or nil. Scores are exact up to 2^53: tokens beyond may share one.
local function claim_in(set, owner)
  local score = redis.call('ZSCORE', set, owner)
  if not score then return nil end
  score = score:sub(2)
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', set, score, score)) do
    if text:sub(22, 53) == owner then return parts_of(text) end
  end
end

-- Makes a claim the exclusive one.
local function hold_alone(c)
  begin_now(c)
  redis.call('SET', lock, c.text, 'PX', c.ttl)
end

-- The first claim of a set, or "end" and the owner of a claim whose time is up.
local function first_in(set)
  return redis.call('ZRANGEBYSCORE', set, '-' .. micros:sub(1, -4), '+inf', 'LIMIT', 0, 1)[1]
end
local function is_end(member) return member and member:sub(1, 4) == 'end ' end

-- A notification that is lost costs time only.
local function tell(c, event)
  redis.pcall('PUBLISH', 'holdfast:client:' .. c.client, event .. ' ' .. c.owner .. ' ' .. c.token)
end

-- A token is text of 20 digits, because Lua's numbers are exact only up to 2^53.
local function next_token(last)
  local floor = ('0000' .. micros):sub(-20)
  if floor > last then return floor end
  local low = tonumber(last:sub(-9)) + 1
  if low <= 999999999 then return last:sub(1, 11) .. string.format('%09d', low) end
  return string.format('%011d', tonumber(last:sub(1, 11)) + 1) .. '000000000'
end

local others = ' others' -- behind the token in the fence
local function know(text, keep)
  local left = redis.call('PTTL', fence)
  redis.call('SET', fence, text, 'PX', left > tonumber(keep) and left or keep)
end

-- A key lives as long as anybody may need it, and a while longer: nothing stays behind for ever.
local function outlive(key, need, keep)
  if redis.call('PTTL', key) < tonumber(need) then redis.call('PEXPIRE', key, keep) end
end

-- Milliseconds that an exclusive holder has at least. It may have been renewed.
local function time_left(c)
  local left = math.floor(c.since / 1000) + c.ttl - now
  return left > 0 and left or redis.call('PTTL', lock)
end
