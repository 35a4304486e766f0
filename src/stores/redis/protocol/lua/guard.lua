-- Whether this server may grant, or has to wait: it may have forgotten grants that were confirmed. A replica that was
-- promoted does not know the last ones, a server that came back from an older copy neither, and one that came back empty
-- none. Called on each connection before its first claim, and then before a request if a second has passed.
--
-- KEYS: marker (the identity of the server whose grants are all known here)
-- ARGV: guard (milliseconds; how long such a server grants nothing new), former primary (milliseconds; how long one may
--       still take writes), writes ("kept": the server's settings, which the client has read, have each write on the disk
--       before its reply; "loose": they do not; empty: not read); in a cluster also copy (of the marker, as the client has
--       heard it on a connection to this server before; may be empty)
-- Returns {left, since, cause, guard, marker, ends}: how long it still grants nothing, for how long it has not, why, the
-- longest guard in use, the marker, and when the guard ends by the server's clock, or 0. Returns an error while a former
-- primary may take writes: it ends a hold that is renewed here alone, and grants the name.
--
-- The marker is "id run guard since cause": the replication id and the run id of the server that wrote it, the longest
-- guard in use, since when that server grants nothing, or 0, and why. " kept" follows if that run has each write on the
-- disk before its reply. A server has another replication id after each promotion and each start. A primary without
-- replicas takes another id after a while, but then no former one. In a cluster the marker lies in a slot of the server.
-- It goes with the slot, and one of another server may come. Then the copy counts, if this server wrote it.
--
-- The guard in the marker is "longest/until/shorter". A client asks before it claims and before it renews, and no ttl of
-- it is longer than its guard. So a guard is no longer in use when its own length, and a margin, have passed since a
-- client last asked for it: `until`. Then the longest of the shorter ones counts that were asked for meanwhile.

local longest_ever = 25 * 3600 * 1000 -- no ttl is longer than a day
local marker, guard, former_primary, writes, copy = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
guard = math.min(guard, longest_ever)
-- A client asks a second before it sends at most, and its clock may be slower. Half of it saves most writes.
local margin = 10000
local replication, server = redis.call('INFO', 'replication'), redis.call('INFO', 'server')

local function field(text, name) return text:match('\n' .. name .. ':([^\r\n]*)') end

local id, former = field(replication, 'master_replid'), field(replication, 'master_replid2')
local run, uptime = field(server, 'run_id'), tonumber(field(server, 'uptime_in_seconds') or '')
if not (id and former and run and uptime) then
  return redis.error_reply('ERR Holdfast: the server does not say its replication id, run id and uptime')
end
if field(replication, 'role') ~= 'master' then
  return redis.error_reply("READONLY You can't write against a read only replica.")
end
local has_followed = former:find('[^0]') ~= nil

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local value = redis.call('GET', marker)
local function parts_of(text)
  local kept = text:match('^(.*) kept$')
  local its_id, its_run, its_longest, its_until, its_shorter, its_since, its_cause =
    (kept or text):match('^(%x+) (%x+) (%d+)/(%d+)/(%d+) (%d+) (%a+)$')
  return its_id, its_run, its_longest, its_until, its_shorter, its_since, its_cause, kept and 'kept' or ''
end
local known_id, known_run, longest, counts_until, shorter, since, cause, known_writes
if value then known_id, known_run, longest, counts_until, shorter, since, cause, known_writes = parts_of(value) end
local is_copy = known_id ~= id and copy and parts_of(copy) == id
if is_copy then known_id, known_run, longest, counts_until, shorter, since, cause, known_writes = parts_of(copy) end
since = tonumber(since or 0)
longest = math.min(tonumber(longest or guard), longest_ever)
shorter = math.min(tonumber(shorter or 0), longest)

-- What a promoted replica, a file or a copy says of the time is old: others may have asked since.
local longest_until = now + longest + margin
counts_until = math.min(tonumber(counts_until or 0), longest_until) -- the clock may have been set back
if known_id ~= id or known_run ~= run or is_copy then counts_until = longest_until end
if guard < longest and now > counts_until then
  longest, shorter = math.max(guard, shorter), 0
  counts_until = now + longest + margin
end
if guard < longest then
  shorter = math.max(shorter, guard)
elseif guard > longest or now + guard + margin / 2 > counts_until then
  longest, counts_until = guard, now + guard + margin
end

local may_move = copy ~= nil -- then a foreign marker says nothing of this server
local remembers = not has_followed and writes == 'kept' and known_writes == 'kept' -- what the former run granted, too
if known_id ~= id and (known_run ~= run or has_followed) and not remembers then
  if has_followed or known_id and not may_move then
    since, cause = now, 'changed'
  else
    -- What was granted before the start is forgotten, and all else is known. The server counts whole seconds, and may
    -- count one too many.
    since, cause = now - math.max(0, uptime - 1) * 1000, 'started'
  end
end
if since > now then since = now end -- the clock was set back
local left = since > 0 and since + longest - now or 0
if left <= 0 then
  left, since, cause = 0, 0, 'none'
end

if writes == '' and known_run == run then writes = known_writes or '' end
local text = ('%s %s %d/%d/%d %d %s'):format(id, run, longest, counts_until, shorter, since, cause)
if writes == 'kept' then text = text .. ' ' .. writes end
-- A user who may only look, or a server short of memory, leaves it as it is: then the next client finds the same.
if text ~= value then redis.pcall('SET', marker, text) end
if left > 0 and now - since < former_primary then
  return redis.error_reply(('MASTERDOWN Holdfast: this server became the primary %d s ago, and a former one may still ' ..
    'take writes; it is not used for %d ms more (former_primary)'):format((now - since) / 1000,
    former_primary - (now - since)))
end
return { left, left > 0 and now - since or 0, cause, longest, text, left > 0 and since + longest or 0 }
