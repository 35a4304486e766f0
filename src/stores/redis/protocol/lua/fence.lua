-- Whether a fencing token is the largest that the key has seen, or equal to it. Then it returns nil, and the key keeps the
-- token; else an error, which the script returns in its turn before it has written anything. Tokens are compared as text of
-- 20 digits, since Lua's numbers are exact only up to 2^53. The key has no ttl: what forgets a token admits older ones.
local function holdfast_fence(key, token)
  token = type(token) == 'string' and token:match('^%d+$')
  if not token or #token > 20 or not token:find('[1-9]') then
    return redis.error_reply('HOLDFASTINVALID a fence takes a token above 0')
  end
  token = string.rep('0', 20 - #token) .. token
  local seen = redis.call('GET', key)
  if seen and not (#seen == 20 and seen:match('^%d+$')) then
    return redis.error_reply('HOLDFASTINVALID the key ' .. key .. ' is not a fence')
  end
  if seen and seen > token then
    return redis.error_reply('HOLDFASTFENCED the fencing token ' .. token:match('^0*(.+)$') .. ' is older than ' ..
      seen:match('^0*(.+)$') .. ', the largest seen for ' .. key)
  end
  redis.call('SET', key, token)
end
