#!lua name=holdfast
-- Holdfast: the check of fencing tokens, for a resource that is kept in this Redis.
--
-- As a library of functions, from Redis 7 on:   FUNCTION LOAD REPLACE "$(cat THIS_FILE)"
--   FCALL holdfast_fence 1 FENCE TOKEN                               only the check
--   FCALL holdfast_fence N FENCE KEY... TOKEN COMMAND ARGUMENT...    and the command, if the token is admitted
-- In a script of one's own (EVAL), copy the function holdfast_fence, and begin with
--   local refused = holdfast_fence(KEYS[1], ARGV[1])
--   if refused then return refused end

--@include fence.lua

redis.register_function('holdfast_fence', function(keys, arguments)
  if #keys == 0 then return redis.error_reply('HOLDFASTINVALID the first key is the fence') end
  local refused = holdfast_fence(keys[1], arguments[1])
  if refused then return refused end
  if #arguments == 1 then return redis.status_reply('OK') end
  return redis.call(unpack(arguments, 2))
end)
