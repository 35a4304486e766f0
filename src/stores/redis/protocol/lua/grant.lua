-- A server that decides alone. The scripts of one that votes have another file of this name: see quorum/grant.lua.

-- A hold begins now.
local function begin_now(c)
  c.since = micros
  c.text = c.token .. ' ' .. c.owner .. ' ' .. micros .. ' ' .. c.rest
end

-- What is sent with a grant, behind its token.
local function proof_of(_, secret) return secret end

-- The token that counts where the server has forgotten the last one.
local function forgotten_token() return string.rep('0', 20) end

local slot, looks_around = 1, false -- see fairness.lua
