-- End claims, one after another.
--
-- KEYS: of each claim as release.lua has them
-- ARGV: keep, the owners; behind them "paused": see claims.lua
-- Returns 1 or 0 for each, as release.lua does. An error ends the list before it: that claim is ended by itself then,
-- and gets the error. The first claim's error is that of all.

local read = {}
for first = 1, #KEYS, 4 do
  read[#read + 1] = KEYS[first]
  read[#read + 1] = KEYS[first + 1]
end
local known = redis.call('MGET', unpack(read))
local paused = ARGV[#ARGV]:sub(1, 7) == 'paused ' and ARGV[#ARGV] or nil

local function release(KEYS, ARGV)
--@include release.lua
end

local answers, free = {}, {}
for first = 1, #KEYS, 4 do
  local lock, last = known[(first + 1) / 2], known[(first + 1) / 2 + 1]
  local owner = ARGV[(first + 3) / 4 + 1]
  local answer = 1
  -- As release.lua does: usually nobody waits.
  if lock and lock:sub(22, 53) == owner and last and #last == 20 then
    free[#free + 1] = KEYS[first]
  else
    local each, own = { unpack(KEYS, first, first + 3) }, { owner, ARGV[1], paused }
    if first == 1 then
      answer = release(each, own)
      if type(answer) ~= 'number' then return answer end
    else
      local is_done
      is_done, answer = pcall(release, each, own)
      if not is_done or type(answer) ~= 'number' then break end
    end
  end
  answers[#answers + 1] = answer
end
if free[1] then redis.call('DEL', unpack(free)) end
return answers
