-- How a name is handed over, whoever holds and waits. Include it behind state.lua and fairness.lua.

local bury_at_most, grant_at_most = 64, 128 -- in one call; what is left is for the next

local function count_holders()
  held = 0
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', holders, 0, '+inf')) do
    local c = parts_of(text) -- nil: another program has put it there
    if c then held, capacity = held + c.weight, c.capacity end
  end
end

-- The server may have evicted one of the keys.
if is_shared and not joined then held = 0 end
if not value and joined then count_holders() end
last = (known or forgotten_token()):sub(1, 20)
if not known then
  local function has_token(text)
    local c = text and parts_of(text)
    if c and c.token > last then last = c.token end
  end
  has_token(value)
  has_token(redis.call('ZREVRANGE', waiters, 0, 0)[1])
  has_token(joined and redis.call('ZREVRANGE', holders, 0, 0)[1])
end

-- While several hold, the lock ends no sooner than the last of them.
local function mark(ttl)
  local left = is_shared and redis.call('PTTL', lock) or 0
  value, is_shared = 'holdfast:shared ' .. held .. ' ' .. capacity, true
  redis.call('SET', lock, value, 'PX', math.max(left, tonumber(ttl)))
end

-- Ends the claim of one that holds together with others.
local function leave(c)
  strike(holders, c.owner, c.text)
  held = math.max(0, held - c.weight)
  if not is_shared then return end
  if held == 0 then
    redis.call('DEL', lock)
    value, is_shared = false, false
  else
    value = 'holdfast:shared ' .. held .. ' ' .. capacity
    redis.call('SET', lock, value, 'KEEPTTL')
  end
end

-- Removes claims that have ended: holders whose client died, places that no client kept. Returns whether some are left.
local function bury(set)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', set, -now, '(0', 'LIMIT', 0, bury_at_most)) do
    local owner = member:sub(5)
    local c = claim_in(set, owner)
    if c and set == holders then leave(c) else strike(set, owner, c and c.text or owner) end
  end
  return is_end(first_in(set))
end

-- Returns the owner whose claim ends last, in a set with claims that have ended; nil if all have.
local function last_living(set)
  local oldest = redis.call('ZRANGEBYSCORE', set, 0, '+inf', 'LIMIT', 0, 1)[1]
  local member = oldest
    and redis.call('ZRANGEBYSCORE', set, '(-' .. oldest:sub(1, 20), '(' .. -now, 'LIMIT', 0, 1)[1]
  return is_end(member) and member:sub(5) or nil
end

local is_crowded = false -- more claims that wait have ended than one call strikes off
if is_end(joined) and bury(holders) and not last_living(holders) then
  redis.call('DEL', holders)
  held = 0
  if is_shared then
    redis.call('DEL', lock)
    value, is_shared = false, false
  end
end
if is_end(first) then
  is_crowded = bury(waiters)
  if is_crowded and not last_living(waiters) then
    redis.call('DEL', waiters)
    is_crowded = false
  end
  first = nil
end

-- Returns the first claim that waits. In a crowd it may have ended.
local function head()
  if first == nil then
    first = redis.call('ZRANGEBYSCORE', waiters, 0, '+inf', 'LIMIT', 0, 1)[1] or false
    next_up = first and parts_of(first) or nil
  end
  return next_up
end

local function strike_waiter(c)
  strike(waiters, c.owner, c.text)
  if next_up and next_up.owner == c.owner then first = nil end
end

local function begin_hold(c, keep)
  keep = math.max(tonumber(keep), 2 * c.ttl)
  if not known then
    known = last .. others
    know(known, keep)
  end
  if c.weight == whole then
    hold_alone(c)
    value, alone = c.text, c
  else
    begin_now(c)
    held, capacity = held + c.weight, c.capacity
    add(holders, c.token, c.owner, c.text, c.ttl)
    mark(c.ttl)
    outlive(holders, keep, keep)
  end
end

local function is_exclusively_held() return value and not is_shared end

-- Whether a claim fits beside those that hold. An exclusive one needs the lock itself free, too: the server may have
-- evicted what it knew of others.
local function fits(weight, size)
  return not is_exclusively_held() and weight <= size - held and (weight < whole or not value)
end

local granted = {} -- owners, by this call

-- Hands the name over to as many of the first waiters as fit together, and notifies exactly those. Where there is more
-- to do than one call should do, a waiter that lives is notified to look.
local function serve(keep)
  if is_paused or is_exclusively_held() or is_left_free() then return end
  if is_crowded then
    local owner = last_living(waiters)
    local c = owner and claim_in(waiters, owner)
    return c and notify(c, 'look')
  end
  for _ = 1, grant_at_most do
    local c = head()
    if not c or not fits(c.weight, c.capacity) then return end
    strike_waiter(c)
    begin_hold(c, keep)
    granted[c.owner] = true
    notify(c, 'granted')
    if is_exclusively_held() then return end
  end
  local c = head()
  if c then notify(c, 'look') end
end

-- Milliseconds until the first holder's time is up, or -1. What the claim says of an exclusive one is not its end: it may
-- have been renewed since, also by a last renewal that ends sooner.
local function holder_left()
  if is_exclusively_held() then return redis.call('PTTL', lock) end
  local ends = redis.call('ZREVRANGEBYSCORE', holders, '(0', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  return ends and math.max(0, -ends - now) or -1
end

-- Returns the place of a claim that waits: {granted, token, head, holder_left, silent}. `silent`: a foreign client
-- holds, and notifies nobody when it ends.
local function waits(token, is_head)
  if is_crowded then return { 0, token, 1, 0, 0 } end -- look again at once
  if is_left_free() then return { 0, token, is_head and 1 or 0, free - now, 0 } end
  return { 0, token, is_head and 1 or 0, holder_left(), is_exclusively_held() and not alone and 1 or 0 }
end

-- The claim of an owner that waits, or holds together with others: nil where its time was up.
local function living(set, owner)
  local c = claim_in(set, owner)
  if not c then return nil end
  local ends = redis.call('ZSCORE', set, 'end ' .. owner)
  if ends and -ends > now then return c end
  if set == holders then leave(c) else strike_waiter(c) end
end

-- One more ttl for such a claim. Of one that holds, something is written even where nothing changes, since it was
-- granted within this millisecond: WAIT waits for what its own connection has written.
local function keep_claim(set, owner, ttl, keep)
  redis.call('ZADD', set, ends_after(ttl), 'end ' .. owner)
  outlive(set, keep, keep)
  outlive(fence, keep, keep)
  if set == waiters then return end
  if is_shared then
    redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), tonumber(ttl)))
  elseif not value then
    mark(ttl)
  end
end

-- Where the claim of an owner stands, after it was kept for one more ttl, and everybody served: a holder may have
-- died, and nobody have looked since. Nil: there is none, or not with that token.
local function look_again(owner, token, ttl, keep)
  local function is_meant(c) return c and (token == '' or c.token == token) end
  -- A clock that was set back may revive a hold of an owner who has queued anew since.
  if alone and alone.owner == owner and is_meant(alone) then
    redis.call('PEXPIRE', lock, ttl)
    outlive(fence, keep, keep)
    return { 1, alone.token, 0, -1, 0 }
  end
  local c, set = head() and living(waiters, owner), waiters
  if not c and not alone then
    c, set = living(holders, owner), holders
  end
  local is_there = is_meant(c)
  if is_there then keep_claim(set, owner, ttl, keep) end
  if is_there and set == waiters and see_foreign() then know(last .. others, keep) end
  serve(keep)
  if next(granted) and take_turn() then know(last .. others, keep) end
  if not is_there then return nil end
  if set == holders or granted[owner] then return { 1, c.token, 0, -1, 0 } end
  return waits(c.token, head().owner == owner)
end
