-- Propose another fencing token for a claim that holds here.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, ttl, keep, token; behind them "paused": see claims.lua
-- Returns a vote (see vote.lua), or nil: no such claim lives.

--@include name.lua
--@include vote.lua
local owner, ttl, keep, number = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local c = own_hold(owner)
if c and not is_paused and is_acceptable(number, c) then
  if not known then
    known = last .. others
    know(known, keep)
  end
  accept(number)
  set_accepted(c, number)
  rewrite(c)
end
local place = look_again(owner, '', ttl, keep)
return place and vote_for(owner, place)
