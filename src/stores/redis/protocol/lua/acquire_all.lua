-- Claims that do not wait, one after another, up to the first that is not granted.
--
-- KEYS: of each claim as acquire.lua has them
-- ARGV: of each claim the number of its arguments, and these, as acquire.lua has them; behind all "paused", likewise
-- Returns the answer of each, as acquire.lua gives it. An answer that is no token is the last. An error ends the list
-- before it: the claim is asked for by itself then, and gets the error. The first claim's error is that of all.

local read = {}
for first = 1, #KEYS, 4 do
  read[#read + 1] = KEYS[first]
  read[#read + 1] = KEYS[first + 1]
end
local known = redis.call('MGET', unpack(read))
local time = redis.call('TIME')
local micros = time[1] .. ('00000' .. time[2]):sub(-6)
local token = ('0000' .. micros):sub(-20)
local paused = ARGV[#ARGV]:sub(1, 7) == 'paused ' and ARGV[#ARGV] or nil

local function acquire(KEYS, ARGV)
--@include acquire.lua
end

local answers, at = {}, 1
for first = 1, #KEYS, 4 do
  local count = tonumber(ARGV[at])
  local last = known[(first + 1) / 2 + 1]
  local answer
  -- As acquire.lua does: usually nobody holds or waits.
  if count == 5 and not paused and not known[(first + 1) / 2] and last and #last == 20 and token > last then
    local claim = token .. ' ' .. ARGV[at + 1] .. ' ' .. micros .. ' ' .. ARGV[at + 5]
    if redis.call('SET', KEYS[first], claim, 'NX', 'PX', ARGV[at + 2]) then
      redis.call('SET', KEYS[first + 1], token, 'PX', ARGV[at + 3])
      answer = token
    end
  end
  if not answer then
    local keys, own = { unpack(KEYS, first, first + 3) }, { unpack(ARGV, at + 1, at + count) }
    own[count + 1] = paused
    if first == 1 then
      answer = acquire(keys, own)
    else
      local is_done
      is_done, answer = pcall(acquire, keys, own)
      if not is_done then break end
    end
  end
  answers[#answers + 1] = answer
  if type(answer) ~= 'string' then break end
  at = at + count + 1
end
return answers
