-- Give a grant back, into the queue, where another claim goes first. The client has no majority, and counts nothing of
-- this server until it has the answer. (Maekawa 1985, with the correction of Sanders 1987.)
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: owner, ttl, keep, grant (its number: a yield that comes late names another); behind them "paused": see claims.lua
-- Returns a vote (see vote.lua), or nil: no such claim lives.

--@include name.lua
--@include vote.lua
local owner, ttl, keep, grant = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local c = own_hold(owner)
if c and c.since == grant then
  if is_overtaken(c) then
    if alone then
      redis.call('DEL', lock)
      value, alone = false, nil
    else
      leave(c)
    end
    know(last .. others, keep)
    add(waiters, c.token, owner, c.text, ttl)
    outlive(waiters, 2 * ttl, keep)
  else
    -- Copies of this yield that are under way would give away what the client may rely on from now on.
    c.since = string.format('%.0f', c.since + 1)
    rewrite(c)
  end
end
local place = look_again(owner, '', ttl, keep)
return place and vote_for(owner, place)
