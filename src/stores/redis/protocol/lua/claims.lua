-- The layout of a name, and what concerns one claim. Every script reads `found`, the values of lock and fence, and
-- `clock`, the server's time, before it includes this.
--
-- A name is four keys in one hash slot:
--   lock     string   the claim of an exclusive holder, or "holdfast:shared held capacity" while several hold. Any
--                     other value is that of a foreign client, which knows no other key
--   fence    string   the largest token ever drawn. With text behind it `waiters` and `holders` may exist: " others",
--                     or " foreign seen free turn" after a claim waited for a foreign client (see fairness.lua)
--   waiters  zset     the claims that wait
--   holders  zset     the claims that hold together
-- A claim is the text "token owner since client weight capacity ttl metadata". `since` is in microseconds, `ttl` in
-- milliseconds. Behind the client's id there may be a secret, "/" and hexadecimal digits, which is sent with the grant:
-- its client believes the grant without another request.
-- A set has three members for each claim, so that one call answers each of three questions:
--   member         score                   question
--   claim          its token               Which claim is the first?
--   owner          minus its token         Which claim has this owner?
--   "end " owner   minus its end, in ms    Which claims have ended? Their members stand right before the first claim.

local lock, fence, waiters, holders = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local whole = 1073741824 -- the capacity of a mutex, and the weight of an exclusive claim
local furthest_ahead = 25 * 3600 * 1000 -- milliseconds: no guard is longer
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local micros = clock[1] .. ('00000' .. clock[2]):sub(-6)
local function ends_after(ttl) return string.format('-%d', now + ttl) end -- a number would cost the server more

-- Whether nothing is to be granted: the server may have forgotten who holds (see guard.lua). The next call that is not
-- paused hands the name on. "paused " is followed by the end of that, in milliseconds of the server's clock.
local is_paused = ARGV[#ARGV]:sub(1, 7) == 'paused '

-- Whether it is one: cheaper than its parts.
local function is_claim(text)
  return text:match('^%d+()') == 21 and text:match('^ %x+()', 21) == 54
    and text:find('^ %d+ %x[%x{}/]* %d+ %d+ %d+ ', 54)
end

-- Returns the parts of a claim, or nil for any other text. Only annotate changes the `rest`, behind `since`.
local function parts_of(text)
  local token, owner, since, rest, client, weight, capacity, ttl =
    text:match('^(%d+) (%x+) (%d+) ((%x[%x{}/]*) (%d+) (%d+) (%d+) .*)$')
  if not token or #token ~= 20 or #owner ~= 32 then return nil end
  return { text = text, token = token, owner = owner, since = since, rest = rest, client = client,
    weight = tonumber(weight), capacity = tonumber(capacity), ttl = ttl }
end

local others = ' others' -- behind the token in the fence
local known, last -- the fence, and the token in it; state.lua and queue.lua read them
--@include grant.lua

local function add(set, token, owner, text, ttl)
  redis.call('ZADD', set, token, text, '-' .. token, owner, ends_after(ttl), 'end ' .. owner)
end

local function strike(set, owner, text) redis.call('ZREM', set, 'end ' .. owner, owner, text) end

-- Returns the claim of an owner, or nil. Scores are exact up to 2^53: several tokens above that may share one.
local function claim_in(set, owner)
  local score = redis.call('ZSCORE', set, owner)
  if not score then return nil end
  score = score:sub(2)
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', set, score, score)) do
    if text:sub(22, 53) == owner then return parts_of(text) end
  end
end

-- Makes a claim the exclusive holder.
local function hold_alone(c)
  begin_now(c)
  redis.call('SET', lock, c.text, 'PX', c.ttl)
end

-- Returns the first claim of a set, or the "end" member of a claim that has ended.
local function first_in(set)
  return redis.call('ZRANGEBYSCORE', set, '-' .. micros:sub(1, -4), '+inf', 'LIMIT', 0, 1)[1]
end
local function is_end(member) return member and member:sub(1, 4) == 'end ' end

-- A lost notification costs time only. In a cluster a client that waits may listen in the shard of the name: then a
-- hash tag follows its id. All nodes pass on a PUBLISH, which the rare end of a hold by force is worth.
local function send(command, client, c, event, secret)
  redis.pcall(command, 'holdfast:client:' .. client, event .. ' ' .. c.owner .. ' ' .. c.token .. secret)
end
local function notify(c, event)
  local client, secret = c.client:match('^([%x{}]+)(.*)$')
  send(client:sub(-1) == '}' and 'SPUBLISH' or 'PUBLISH', client, c, event, event == 'granted' and proof_of(c, secret) or '')
end
local function notify_holder(c, event) send('PUBLISH', c.client:match('^%x+'), c, event, '') end

-- A token is text of 20 digits, because Lua's numbers are exact only up to 2^53.
local function next_token(last)
  local floor = ('0000' .. micros):sub(-20)
  -- The clock of the server that drew the forgotten tokens may be ahead of this one's, by less than the guard. So they
  -- are below the guard's end, and before that nothing is granted: no token is ahead of the clock when it is granted.
  if is_paused then
    local ends = string.format('%020.0f', ARGV[#ARGV]:sub(8) * 1000)
    if ends > floor then floor = ends end
  end
  if floor > last then return floor end
  local low = tonumber(last:sub(-9)) + 1
  if low <= 999999999 then return last:sub(1, 11) .. string.format('%09d', low) end
  return string.format('%011d', tonumber(last:sub(1, 11)) + 1) .. '000000000'
end

-- A server that has forgotten the fence draws by its clock. So the fence lives until that is past its token, which may
-- be ahead: the clock of another server drew it, or the guard was cut short.
local function know(text, keep)
  local ahead = math.ceil(text:sub(1, 20) / 1000 - now)
  keep = keep + math.max(0, math.min(ahead, furthest_ahead))
  redis.call('SET', fence, text, 'PX', math.max(redis.call('PTTL', fence), keep))
end

-- A key lives as long as a client may need it, and a while longer. No key stays for ever.
local function outlive(key, need, keep)
  if redis.call('PTTL', key) < tonumber(need) then redis.call('PEXPIRE', key, keep) end
end
