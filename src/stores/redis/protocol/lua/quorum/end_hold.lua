-- End the hold of an owner at one of several servers, and notify it.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, keep, the largest number of a claim that is meant; behind them "paused": see claims.lua
-- Returns 1, or 0: it holds nothing here that is meant.

--@include name.lua
--@include vote.lua
local owner, keep, last_meant = ARGV[1], ARGV[2], ARGV[3]

local c = own_hold(owner)
if c and c.token > last_meant then c = nil end -- its client has claimed anew
if c then
  end_hold(c)
  notify_holder(c, 'revoked')
end
serve(keep)
return c and 1 or 0
