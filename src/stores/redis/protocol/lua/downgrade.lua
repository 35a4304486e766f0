-- From writer to reader, in place: nobody can come between.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, keep; behind them "paused": see claims.lua
-- Returns 1, also where it is a reader already, or 0: the hold had ended.

--@include name.lua
local owner, keep = ARGV[1], ARGV[2]

if not alone or alone.owner ~= owner then return living(holders, owner) and 1 or 0 end

local left = math.max(1, redis.call('PTTL', lock))
keep = math.max(tonumber(keep), left) -- its last renewal may have been a long one: the name rests
if first_in(holders) then count_holders() end
local c = alone
c.text = c.token .. ' ' .. owner .. ' ' .. c.since .. ' ' .. c.client .. ' 1 ' .. c.rest:match('^[%x{}/]+ %d+ (.*)$')
held, capacity = held + 1, whole
know(last .. others, keep)
value, alone = false, nil
add(holders, c.token, owner, c.text, left)
mark(left)
outlive(holders, keep, keep)
serve(keep)
return 1
