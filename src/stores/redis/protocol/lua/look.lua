-- Where a claim stands. Keeps it for one more ttl, and sees whether the name can be handed on: a holder may have died.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: owner, token (empty: not known), ttl, keep
-- Returns a place (see place_of), or nil: there is no such claim, or its time was up.

--@include queue.lua
local owner, token, ttl, keep = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

bury()
local ends = redis.call('ZSCORE', expiries, owner)
if ends and tonumber(ends) <= now then forget(owner) end
local place = place_of(owner)
if place and token ~= '' and place[2] ~= token then place = nil end
if place then keep_claim(owner, place, ttl, keep) end
serve(keep)
return place and place_of(owner)
