-- Claims that do not wait, one after another, up to the first that is not granted.
--
-- KEYS: of each claim as acquire.lua has them
-- ARGV: ttl, keep, "client weight capacity ttl metadata" of the claims that hold alone and are alike but for names and
--       owners; of each claim its owner, or, if it is another, "owner ttl capacity weight client ...", with the capacity 0
--       if it holds alone; behind all "paused", as acquire.lua has it
-- Returns the answer of each, as acquire.lua gives it. An answer that is no token is the last. An error ends the list
-- before it: the claim is asked for by itself then, and gets the error. The first claim's error is that of all.

local read = {}
for i = 1, #KEYS / 4 do read[2 * i - 1], read[2 * i] = KEYS[4 * i - 3], KEYS[4 * i - 2] end
local known = redis.call('MGET', unpack(read))
local time = redis.call('TIME')
local micros = time[1] .. ('00000' .. time[2]):sub(-6)
local token = ('0000' .. micros):sub(-20)
local paused = ARGV[#ARGV]:sub(1, 7) == 'paused ' and ARGV[#ARGV] or nil

local function acquire(KEYS, ARGV)
--@include acquire.lua
end

-- The arguments of acquire.lua.
local function arguments_of(claim)
  local owner, ttl, capacity, weight, text = claim:match('^(%x+) (%d+) (%d+) (%d+) (.*)$')
  if not owner then return { claim, ARGV[1], ARGV[2], '0', ARGV[3], paused } end
  if capacity == '0' then return { owner, ttl, ARGV[2], '0', text, paused } end
  return { owner, ttl, ARGV[2], '0', text, capacity, weight, paused }
end

-- As acquire.lua does: usually nobody holds or waits.
local function take_free(lock, fence, owner)
  if redis.call('SET', lock, token .. ' ' .. owner .. ' ' .. micros .. ' ' .. ARGV[3], 'NX', 'PX', ARGV[1]) then
    redis.call('SET', fence, token, 'PX', ARGV[2])
    return token
  end
end

local answers = {}
for i = 1, #KEYS / 4 do
  local claim, last = ARGV[3 + i], known[2 * i]
  local is_free = #claim == 32 and not paused and not known[2 * i - 1] and last and #last == 20 and token > last
  local answer = is_free and take_free(KEYS[4 * i - 3], KEYS[4 * i - 2], claim)
  if not answer then
    local keys, own, is_done = { unpack(KEYS, 4 * i - 3, 4 * i) }, arguments_of(claim), true
    if i == 1 then
      answer = acquire(keys, own)
    else
      is_done, answer = pcall(acquire, keys, own)
    end
    if not is_done then break end
  end
  answers[i] = answer
  if type(answer) ~= 'string' then break end
end
return answers
