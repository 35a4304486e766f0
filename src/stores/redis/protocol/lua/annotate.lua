-- Write other metadata into the claim of an exclusive holder: a leader replaces its value. A request to release stays.
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
local c = value and parts_of(value)
if not c or c.owner ~= owner then return 0 end

local request = c.rest:find(mark, 1, true)
if request and metadata:sub(-1) == '}' then metadata = metadata:sub(1, -2) .. c.rest:sub(request) end
local before = c.rest:match('^%x[%x{}/]* %d+ %d+ %d+ ')
redis.call('SET', lock, c.token .. ' ' .. owner .. ' ' .. c.since .. ' ' .. before .. metadata, 'KEEPTTL')
return 1
