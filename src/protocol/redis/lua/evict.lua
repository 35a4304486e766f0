-- End every hold of a name, whoever has it, and tell the holders. A foreign holder's key is left alone.
--
-- KEYS: lock fence queue claims expiries (see queue.lua)
-- ARGV: keep
-- Returns how many there were, or {value}: held by a foreign client under that value.

--@include queue.lua
local keep = ARGV[1]

bury()
local ended = 0
-- After it has been ended: a server that may not write now says so at the first try to.
local function tell_end(owner, claim)
  local c = parts_of(claim)
  tell(c.client, 'revoked', owner, c.token)
  ended = ended + 1
end

if is_held_alone() then
  local its = lone_claim()
  if not its then return { holder } end
  redis.call('DEL', lock)
  tell_end(holder, its)
  holder = false
else
  for _, owner in ipairs(redis.call('ZRANGE', expiries, 0, -1)) do
    local claim, holds = claim_at(owner)
    if holds then
      forget(owner)
      tell_end(owner, claim)
    end
  end
end
serve(keep)
return ended
