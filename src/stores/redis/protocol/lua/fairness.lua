-- Foreign clients do not queue. They poll the key, and while one claim hands over to the next the key is never free. So
-- once a claim has waited for a foreign holder, releases leave the key free for a moment now and again, for a minute:
-- such a release grants nothing and notifies the first waiter. That waiter takes the lock after the moment, or when it
-- next finds the lock free. Then no moment begins for as long as the foreign clients had the lock. At least one claim
-- is granted between two moments, and the order of the queue is kept. Include it behind state.lua.
--
-- Several servers of which a majority decides have to leave the key free at once. A release comes to all of them at about
-- the same time. So a time without moments ends with a slot of the clock, of which the servers have the same: the first
-- release in a slot begins a moment on each (`slot` in grant.lua, in milliseconds). A foreign client that never had a
-- majority was never waited for: once a minute a moment begins although nobody was seen (`looks_around`).
--
-- The fence is "token foreign seen free turn": when the minute, the last moment and the time without moments end, in
-- milliseconds.

local seen_for, moment, longest_turn = 60000, 100, 30000
local seen, free, turn = (known or ''):match('^%d+ foreign (%d+) (%d+) (%d+)$')
seen, free, turn = tonumber(seen or 0), tonumber(free or 0), tonumber(turn or 0)
-- No script writes times that are further ahead: the clock has been set back.
if seen <= now or seen > now + seen_for then seen, free, turn = 0, 0, 0 end
if free > now + moment then free = 0 end
if turn > now + longest_turn + slot then turn = 0 end
local function end_of_slot(time) return math.ceil(time / slot) * slot end

local function note_foreign() others = string.format(' foreign %d %d %d', seen, free, turn) end
if seen > 0 then note_foreign() end

local function is_left_free() return not value and now < free end

-- Begins the minute anew. Returns whether the fence has to be written.
local function note_seen()
  if seen > now + seen_for - 1000 then return false end
  seen = now + seen_for
  note_foreign()
  return true
end

-- A claim waits, maybe for a foreign holder. Returns whether the fence has to be written.
local function see_foreign()
  return value and not is_shared and not alone and note_seen()
end

-- The lock is free, and claims wait. Returns whether a moment begins; then the fence has to be written.
local function leave_free()
  if looks_around and seen == 0 then seen = now + 1000 end
  if seen == 0 or now < turn then return false end
  free = now + moment
  turn = end_of_slot(free + moment)
  note_foreign()
  return true
end

-- A waiter has found the lock free. Returns whether the fence has to be written.
local function take_turn()
  if seen == 0 then return false end
  local theirs = free > 0 and now - free + moment or 0
  turn = end_of_slot(now + math.min(math.max(theirs, moment), longest_turn))
  note_foreign()
  return true
end
