-- End holds of a name, whoever has them, and notify the holders. A foreign holder's key is left alone.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: keep, first, last: the tokens between which (both included) a hold is ended; behind them "paused": see claims.lua
-- Returns how many there were, or {value}: held by a foreign client under that value.

--@include name.lua
local keep, lowest, highest = ARGV[1], ARGV[2], ARGV[3]

local all = redis.call('ZRANGEBYSCORE', holders, 0, '+inf')
local ended = 0
local function is_meant(c) return c and c.token >= lowest and c.token <= highest end
-- After the hold has ended: a server that may not write refuses the first write.
local function notify_end(c)
  notify_holder(c, 'revoked')
  ended = ended + 1
end

if is_exclusively_held() then
  if not alone then return { value } end
  if is_meant(alone) then
    redis.call('DEL', lock)
    notify_end(alone)
    value, alone = false, nil
    if #all > 0 then count_holders() end
  end
else
  for _, text in ipairs(all) do
    local c = parts_of(text)
    if is_meant(c) then
      leave(c)
      notify_end(c)
    end
  end
end
serve(keep)
return ended
