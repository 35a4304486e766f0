-- One more ttl for each of many holds. One that has expired stays so, even if nobody took its place.
--
-- KEYS: lock fence waiters holders (see claims.lua) of the first hold, of the second, ...
-- ARGV: keep, then owner and ttl of the first hold, of the second, ...
-- Returns a string of one digit a hold: 1 kept, 0 lost, 2 not known: the server refused, for this one; or an error: the
-- server has become a replica.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local keep = ARGV[1]

local function outlive(key)
  local left = redis.call('PTTL', key)
  -- What has no end is not ours, and would get one.
  if left >= 0 and left < tonumber(keep) then redis.call('PEXPIRE', key, keep) end
end

local function keep_one(lock, fence, holders, owner, ttl)
  local value = redis.call('GET', lock)
  if not value then return '0' end
  if value:sub(22, 53) == owner then
    redis.call('PEXPIRE', lock, ttl)
    outlive(fence)
    return '1'
  end
  if not value:find('^holdfast:shared %d+ %d+$') then return '0' end
  local ends = redis.call('ZSCORE', holders, 'end ' .. owner)
  if not ends or -ends <= now then return '0' end
  -- What frees or lengthens comes first: a server without memory lets a script go on that has written already.
  redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), tonumber(ttl)))
  redis.call('ZADD', holders, string.format('-%d', now + ttl), 'end ' .. owner)
  outlive(fence)
  outlive(holders)
  return '1'
end

local kept = {}
for i = 1, #KEYS / 4 do
  local k = 4 * i - 3
  local fine, digit = pcall(keep_one, KEYS[k], KEYS[k + 1], KEYS[k + 3], ARGV[2 * i], ARGV[2 * i + 1])
  kept[i] = fine and digit or '2'
  if not fine then
    -- An error is a table from Redis 7 on, a text before. A replica refuses every write, so nothing has been written.
    local text = type(digit) == 'table' and digit.err or digit
    if type(text) == 'string' and text:find('READONLY', 1, true) then
      return redis.error_reply("READONLY You can't write against a read only replica.")
    end
  end
end
return table.concat(kept)
