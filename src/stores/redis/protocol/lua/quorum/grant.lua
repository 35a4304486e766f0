-- A server that is one of several, of which a majority has to grant (see docs/stores/redlock.md). The client proposes
-- one number for its claim on all of them: its token here, which is its place in the queue. The fence is the largest
-- number that this server has accepted as a fencing token. It accepts none that is not above the fence, or, where it has
-- forgotten that, above its clock. A claim that a majority accepted under one number holds with that number.
--
-- A server that may have forgotten what it accepted accepts nothing while its guard lasts, and afterwards no number that
-- may be from before. So it accepts none that is older than its clock by the guard or more, less a second: the `oldest`
-- of a claim, in milliseconds, or 0 without a guard.
--
-- The accepted number stands in the claim, before its metadata: "token owner since client weight capacity ttl
-- =accepted/oldest metadata". `since` numbers the grants of a claim: no two are the same.

local none = '=' .. string.rep('0', 20)
--@include furthest.lua

local slot = 400 -- see fairness.lua
local looks_around = now % 60000 < 100 -- once a minute, on all servers at once

local function forgotten_token() return ('0000' .. micros):sub(-20) end
local function fence_now() return last or found[2] and found[2]:sub(1, 20) or forgotten_token() end

local function parts_of_rest(c) return c.rest:match('^(%x[%x{}/]* %d+ %d+ %d+ =)(%d+)(/(%d+) .*)$') end
local function accepted_of(c)
  local _, accepted = parts_of_rest(c)
  return accepted
end
local function set_accepted(c, number)
  local before, _, behind = parts_of_rest(c)
  if before then c.rest = before .. number .. behind end
end
local function is_too_old(number, oldest)
  return oldest ~= '0' and number <= string.format('%020.0f', micros - oldest * 1000)
end

local function is_acceptable(number, c)
  local fence_token = fence_now()
  local _, accepted, _, oldest = parts_of_rest(c)
  if not oldest or is_too_old(number, oldest) then return false end
  local is_new = number > fence_token or number == fence_token and number == accepted
  local limit = string.format('%020.0f', micros + furthest)
  -- The clock was set back. It may take hours until it is past the fence, and a majority may have such clocks.
  if fence_token > limit then limit = string.format('%020.0f', fence_token + furthest) end
  return is_new and number <= limit
end

-- The fence is there: whoever queues up, or holds, has written it.
local function accept(number)
  if number == fence_now() then return end
  last, known = number, number .. others
  redis.call('SET', fence, known, 'KEEPTTL')
end

local function begin_now(c)
  c.since = string.format('%.0f', math.max(micros, c.since + 1))
  if not is_paused and is_acceptable(c.token, c) then
    accept(c.token)
    set_accepted(c, c.token)
  else
    set_accepted(c, none:sub(2))
  end
  c.text = c.token .. ' ' .. c.owner .. ' ' .. c.since .. ' ' .. c.rest
end

-- What is sent with a grant, behind its token: the whole vote, if it has a secret. A claim of a client that knows one
-- server alone has no accepted number.
local function proof_of(c, secret)
  return secret == '' and '' or table.concat({ secret, c.since, accepted_of(c) or none:sub(2), fence_now() }, ' ')
end

-- Claims wait in the order of their numbers, and equal ones in that of their owners.
local function goes_before(c, other)
  return c.token < other.token or c.token == other.token and c.owner < other.owner
end
