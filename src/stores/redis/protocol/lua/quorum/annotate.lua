-- Write other metadata into the claim of a holder at one of several servers: a leader replaces its value, or a holder
-- says which token it has, since this server may have accepted another one, or none. A request to release that stands
-- there stays.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, metadata
-- Returns 1, or 0: the hold had ended.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local clock = redis.call('TIME')
--@include claims.lua
local owner, metadata = ARGV[1], ARGV[2]
--@include request_mark.lua

local value = found[1] or redis.call('GET', lock) -- which fails for a key of another type
local alone = value and parts_of(value)
local c = alone and alone.owner == owner and alone
if value and not alone and value:find('^holdfast:shared ') then
  c = claim_in(holders, owner)
  local ends = c and redis.call('ZSCORE', holders, 'end ' .. owner)
  if not ends or -ends <= now then return 0 end
end
if not c then return 0 end

local request = c.rest:find(mark, 1, true)
if request and metadata:sub(-1) == '}' then metadata = metadata:sub(1, -2) .. c.rest:sub(request) end
local before = c.rest:match('^%x[%x{}/]* %d+ %d+ %d+ =%d+/%d+ ')
local text = c.token .. ' ' .. owner .. ' ' .. c.since .. ' ' .. before .. metadata
if alone then
  redis.call('SET', lock, text, 'KEEPTTL')
else
  redis.call('ZREM', holders, c.text)
  redis.call('ZADD', holders, c.token, text)
end
return 1
