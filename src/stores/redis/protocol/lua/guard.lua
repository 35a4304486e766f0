-- Whether this server may grant, or has to wait: it may have forgotten grants that were confirmed. A replica that was
-- promoted does not know the last ones, a server that came back from an older copy neither, and one that came back empty
-- none. Called on each connection before its first claim, and then before a request if a second has passed.
--
-- KEYS: marker (the identity of the server whose grants are all known here)
-- ARGV: guard (milliseconds; how long such a server grants nothing new), former primary (milliseconds; how long one may
--       still take writes), writes ("kept": the server's settings, which the client has read, have each write on the disk
--       before its reply; "loose": they do not; empty: not read); in a cluster also copy (of the marker, as the client has
--       heard it on a connection to this server before; may be empty)
-- Returns {left, since, cause, guard, marker}: how long it still grants nothing, for how long it has not, why, the
-- longest guard in use, and the marker. Returns an error while a former primary may take writes: it ends a hold that is
-- renewed here alone, and grants the name.
--
-- The marker is "id run guard since cause": the replication id and the run id of the server that wrote it, the longest
-- guard in use, since when that server grants nothing, or 0, and why. " kept" follows if that run has each write on the
-- disk before its reply. A server has another replication id after each promotion and each start. A primary without
-- replicas takes another id after a while, but then no former one. In a cluster the marker lies in a slot of the server.
-- It goes with the slot, and one of another server may come. Then the copy counts, if this server wrote it.

local marker, guard, former_primary, writes, copy = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local longest_ever = 25 * 3600 * 1000 -- no ttl is longer than a day
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
  local its_id, its_run, its_longest, its_since, its_cause = (kept or text):match('^(%x+) (%x+) (%d+) (%d+) (%a+)$')
  return its_id, its_run, its_longest, its_since, its_cause, kept and 'kept' or ''
end
local known_id, known_run, longest, since, cause, known_writes
if value then known_id, known_run, longest, since, cause, known_writes = parts_of(value) end
if known_id ~= id and copy and parts_of(copy) == id then
  known_id, known_run, longest, since, cause, known_writes = parts_of(copy)
end
longest, since = math.min(math.max(guard, tonumber(longest or 0)), longest_ever), tonumber(since or 0)

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
local text = ('%s %s %d %d %s'):format(id, run, longest, since, cause)
if writes == 'kept' then text = text .. ' ' .. writes end
-- A user who may only look, or a server short of memory, leaves it as it is: then the next client finds the same.
if text ~= value then redis.pcall('SET', marker, text) end
if left > 0 and now - since < former_primary then
  return redis.error_reply(('MASTERDOWN Holdfast: this server became the primary %d s ago, and a former one may still ' ..
    'take writes; it is not used for %d ms more (former_primary)'):format((now - since) / 1000,
    former_primary - (now - since)))
end
return { left, left > 0 and now - since or 0, cause, longest, text }
