-- A whole name: its values, who holds it, and how it is handed over. Most scripts begin with that.
local found = redis.call('MGET', KEYS[1], KEYS[2])
local clock = redis.call('TIME')
--@include claims.lua
--@include state.lua
--@include fairness.lua
--@include queue.lua
