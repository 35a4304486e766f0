-- Delete the set of servers that a client wrote, if it still is that one. The client claims nothing: another server
-- keeps another set.
--
-- KEYS: the key in which this server keeps the set
-- ARGV: set
-- Returns 1, or 0: there is none, or another one.

if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
