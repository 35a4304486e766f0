-- End claims, one after another.
--
-- KEYS: of each claim as release.lua has them
-- ARGV: keep, the owner of each claim; behind them "paused": see claims.lua
-- Returns 1 or 0 for each, as release.lua does. An error ends the list before it: that claim is ended by itself then,
-- and gets the error. The first claim's error is that of all.

local read = {}
for i = 1, #KEYS / 4 do read[2 * i - 1], read[2 * i] = KEYS[4 * i - 3], KEYS[4 * i - 2] end
local known = redis.call('MGET', unpack(read))
local paused = ARGV[#ARGV]:sub(1, 7) == 'paused ' and ARGV[#ARGV] or nil

local function release(KEYS, ARGV)
--@include release.lua
end

local answers, free = {}, {}
for i = 1, #KEYS / 4 do
  local lock, last, owner = known[2 * i - 1], known[2 * i], ARGV[1 + i]
  local is_done, answer = true, 1
  -- As release.lua does: usually nobody waits.
  if lock and lock:sub(22, 53) == owner and last and #last == 20 then
    free[#free + 1] = KEYS[4 * i - 3]
  else
    local keys, own = { unpack(KEYS, 4 * i - 3, 4 * i) }, { owner, ARGV[1], paused }
    if i == 1 then
      answer = release(keys, own)
      if type(answer) ~= 'number' then return answer end
    else
      is_done, answer = pcall(release, keys, own)
    end
  end
  if not is_done or type(answer) ~= 'number' then break end
  answers[i] = answer
end
if free[1] then redis.call('DEL', unpack(free)) end
return answers
