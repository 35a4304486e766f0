-- What this server says of a claim. Include it behind queue.lua.

-- Whether another claim goes before this one, which holds here.
local function is_overtaken(c)
  local first = head()
  return first and goes_before(first, c)
end

-- The holder that a claim of `owner` waits for: an owner, or the value of a foreign client.
local function blocker_of(owner)
  if alone then return alone.owner ~= owner and alone.owner or '' end
  if is_exclusively_held() then return 'foreign ' .. redis.sha1hex(value) end
  local c = parts_of(redis.call('ZRANGEBYSCORE', holders, 0, '+inf', 'LIMIT', 0, 1)[1] or '')
  return c and c.owner ~= owner and c.owner or ''
end

local function own_hold(owner)
  if alone then return alone.owner == owner and alone or nil end
  return not is_exclusively_held() and living(holders, owner) or nil
end

-- Others may hold behind a hold that a clock that was set back has revived.
local function end_hold(c)
  if alone then
    redis.call('DEL', lock)
    value, alone = false, nil
    if first_in(holders) then count_holders() end
  else
    leave(c)
  end
end

local function rewrite(c)
  local text = c.text
  c.text = c.token .. ' ' .. c.owner .. ' ' .. c.since .. ' ' .. c.rest
  if alone then
    redis.call('SET', lock, c.text, 'KEEPTTL')
    value = c.text
  else
    redis.call('ZREM', holders, text)
    redis.call('ZADD', holders, c.token, c.text)
  end
end

-- A server in its guard may have forgotten that a claim gave its grant back. So that grant is no vote, and counts for a
-- number only if that is accepted anew when the guard is over. A renewal keeps it: only a claim with a majority is renewed.
--
-- Returns {1, token, accepted, fence, grant, overtaken, clock}: granted, or
-- {0, token, head, left, silent, blocker, clock}: waits. `clock` is in microseconds.
local function vote_for(owner, place)
  local c = own_hold(owner)
  if c and is_paused and accepted_of(c) ~= none:sub(2) then
    set_accepted(c, none:sub(2))
    rewrite(c)
  elseif c and not is_paused then
    return { 1, c.token, accepted_of(c) or none:sub(2), fence_now(), c.since, is_overtaken(c) and 1 or 0, micros }
  end
  if place[1] ~= 0 then place = { 0, place[2], 0, -1, 0 } end
  return { 0, place[2], place[3], place[4], place[5], blocker_of(owner), micros }
end

-- Asks whoever holds here, and came later than the first that waits, to give way, as long as it has no majority.
local function inquire(c)
  if alone then
    if goes_before(c, alone) then notify_holder(alone, 'look') end
    return
  end
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', holders, c.token, '+inf', 'LIMIT', 0, 16)) do
    local h = parts_of(text)
    if h and goes_before(c, h) then notify_holder(h, 'look') end
  end
end
