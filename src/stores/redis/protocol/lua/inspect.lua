-- A name, or a part of it where many hold or wait. Writes nothing.
--
-- A server carries out nothing else meanwhile, and the answer stands before renewals of the same client. So a call reads
-- no more than some claims and bytes, whatever lies there; the next call reads on.
--
-- KEYS: lock fence waiters holders (see claims.lua)
-- ARGV: of the holders, and then of the waiters: the score of the claim with which to begin, how many claims of that score
--       to pass over, how many claims that have not ended to read at most
-- Returns {now, fence, lock, its milliseconds left, waiters, holders, how many wait, how many are in `holders`}. Of each
-- set: {score, passed over, claim, end, claim, end, ...}: where to read on, an empty score at the end. Absent keys are nil
-- or empty. Longer texts are cut.

local claims_left, bytes_left, longest_text = 128, 131072, 16384
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function text_of(key)
  local text = redis.call('GETRANGE', key, 0, longest_text - 1)
  return text ~= '' and text
end

-- How many claims have not ended: each has three members, and one of them has the end as its score.
local function count_of(set)
  local all = math.floor(redis.call('ZCARD', set) / 3)
  return math.max(0, all - redis.call('ZCOUNT', set, -now, '(0'))
end

local function claims_in(set, score, passed, wanted)
  local found = { '', 0 }
  while wanted > 0 do
    if claims_left <= 0 or bytes_left <= 0 then
      found[1], found[2] = score, passed
      return found
    end
    local some = math.min(16, wanted, claims_left)
    local texts = redis.call('ZRANGEBYSCORE', set, score, '+inf', 'WITHSCORES', 'LIMIT', passed, some)
    if #texts == 0 then break end
    for i = 1, #texts, 2 do
      local text = texts[i]
      if texts[i + 1] ~= score then score, passed = texts[i + 1], 0 end
      passed, claims_left = passed + 1, claims_left - 1
      local ends = redis.call('ZSCORE', set, 'end ' .. text:sub(22, 53))
      if ends and -ends > now then
        text = text:sub(1, longest_text)
        found[#found + 1], found[#found + 2] = text, ends
        wanted, bytes_left = wanted - 1, bytes_left - #text
      end
    end
  end
  return found
end

local holding = claims_in(KEYS[4], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
local waiting = claims_in(KEYS[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]))
return {
  string.format('%.0f', now),
  text_of(KEYS[2]),
  text_of(KEYS[1]),
  redis.call('PTTL', KEYS[1]),
  waiting,
  holding,
  count_of(KEYS[3]),
  count_of(KEYS[4]),
}
