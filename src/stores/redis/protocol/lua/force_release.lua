-- End holds of a name, whoever has them, and tell the holders. A foreign holder's key is left alone.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: keep, first, last: the tokens between which (both included) a hold is ended
-- Returns how many there were, or {value}: held by a foreign client under that value.

--@include queue.lua
local keep, first, last = ARGV[1], ARGV[2], ARGV[3]

bury()
local ended = 0
local function is_meant(claim)
  local token = parts_of(claim).token
  return token >= first and token <= last
end
-- After it has been ended: a server that may not write now says so at the first try to.
local function tell_end(owner, claim)
  local c = parts_of(claim)
  tell(c.client, 'revoked', owner, c.token)
  ended = ended + 1
end

if is_held_alone() then
  local its = lone_claim()
  if not its then return { holder } end
  if is_meant(its) then
    redis.call('DEL', lock)
    tell_end(holder, its)
    holder = false
  end
else
  for _, owner in ipairs(redis.call('ZRANGE', expiries, 0, -1)) do
    local claim, holds = claim_at(owner)
    if holds and is_meant(claim) then
      forget(owner)
      tell_end(owner, claim)
    end
  end
end
serve(keep)
return ended
