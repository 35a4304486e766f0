-- The server's clock, and the tokens that are drawn from it. A token is text of 20 digits: exact, and compared as it
-- stands, because Lua's numbers are exact only up to 2^53.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local micros = clock[1] .. ('00000' .. clock[2]):sub(-6)

local function next_token(last)
  local floor = ('0000' .. micros):sub(-20)
  if floor > last then return floor end
  local low = tonumber(last:sub(-9)) + 1
  if low <= 999999999 then return last:sub(1, 11) .. string.format('%09d', low) end
  return string.format('%011d', tonumber(last:sub(1, 11)) + 1) .. '000000000'
end
