-- Clients of other libraries stand in no queue. They try to take the key now and again, and never meet it free while one
-- claim of ours is handed on to the next. So once one of them was waited for, the key is left free for a moment now and
-- again, for a minute. A release hands on to nobody then; the first that waits is told, and takes the name when the moment
-- is over, or when it next finds it free. From then on it is our turn, for as long as others had theirs. At least one claim
-- of ours is served between two moments, and the order among ours stays. It stands behind state.lua.
--
-- In the fence: "token foreign seen free turn", when the minute, the last moment, and our turn end, in milliseconds.

local seen_for, moment, longest_turn = 60000, 100, 30000
local seen, free, turn = (known or ''):match('^%d+ foreign (%d+) (%d+) (%d+)$')
seen, free, turn = tonumber(seen or 0), tonumber(free or 0), tonumber(turn or 0)
-- A time further ahead than any that is written: the clock has been set back.
if seen <= now or seen > now + seen_for then seen, free, turn = 0, 0, 0 end
if free > now + moment then free = 0 end
if turn > now + longest_turn then turn = 0 end

local function note_foreign() others = string.format(' foreign %d %d %d', seen, free, turn) end
if seen > 0 then note_foreign() end

local function is_left_free() return not value and now < free end

-- A claim of ours waits for a foreign holder. Returns whether that has to be written.
local function see_foreign()
  if not value or is_shared or alone or seen > now + seen_for - 1000 then return false end
  seen = now + seen_for
  note_foreign()
  return true
end

-- The lock is free, and claims wait. Returns whether a moment begins.
local function leave_free()
  if seen == 0 or now < turn then return false end
  free = now + moment
  turn = free + moment
  note_foreign()
  return true
end

-- One of ours has found the lock free. Returns whether that has to be written.
local function take_turn()
  if seen == 0 then return false end
  local theirs = free > 0 and now - free + moment or 0
  turn = now + math.min(math.max(theirs, moment), longest_turn)
  note_foreign()
  return true
end
