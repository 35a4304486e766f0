-- Ask holders to release: write the request to the end of their claims, and notify their clients.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner (empty: any), first, last: the tokens between which (both included) a holder is asked; the request (see
--       base/metadata.hpp) without the last brace
-- Returns how many were asked, or {value}: held by a foreign client under that value.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local clock = redis.call('TIME')
--@include claims.lua
local owner, lowest, highest, request = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
--@include request_mark.lua

local value = found[1] or redis.call('GET', lock) -- which fails for a key of another type
local alone = value and parts_of(value)
if value and not alone and not value:match('^holdfast:shared ') then return { value } end

local function is_meant(c)
  return c and (owner == '' or c.owner == owner) and c.token >= lowest and c.token <= highest
end
-- The claim with the request in place of a former one. Metadata that is no object stays as it is.
local function asked(c)
  if c.text:sub(-1) ~= '}' then return c.text end
  local former = c.text:find(mark, 1, true)
  return c.text:sub(1, former and former - 1 or -2) .. request .. '}'
end

if alone then
  if not is_meant(alone) then return 0 end
  redis.call('SET', lock, asked(alone), 'KEEPTTL')
  notify_holder(alone, 'asked')
  return 1
end

local count = 0
for _, text in ipairs(redis.call('ZRANGEBYSCORE', holders, 0, '+inf')) do
  local c = parts_of(text)
  local ends = is_meant(c) and redis.call('ZSCORE', holders, 'end ' .. c.owner)
  if ends and -ends > now then
    redis.call('ZREM', holders, text)
    redis.call('ZADD', holders, c.token, asked(c))
    notify_holder(c, 'asked')
    count = count + 1
  end
end
return count
