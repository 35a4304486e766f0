#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

std::vector<right> needed_rights(const dialect& in, std::string_view probe, bool has_database) {
  const keys of = keys::of(in.prefix, probe);
  const keys odd = keys::of(in.prefix, std::string{probe} + "}");
  const std::string nobody = "9223372036854775807";  // older servers take 0 for every client
  const std::string channel = "holdfast:client:" + std::string{probe};
  std::vector<right> all{
      {{"EVAL", "return 0", "0"}, "+eval", ""},
      {{"EVALSHA", std::string(40, '0'), "0"}, "+evalsha", ""},
      {{"SCAN", "0", "COUNT", "1"}, "+scan", ""},
      {{"PUBLISH", channel, ""}, "+publish", ""},
      {{"PING"}, "+ping", ""},
      {{"TIME"}, "+time", ""},
      {{"GET", of.lock}, "+get", ""},
      {{"GETRANGE", of.lock, "0", "0"}, "+getrange", ""},
      {{"MGET", of.lock, of.fence}, "+mget", ""},
      {{"SET", of.fence, "", "XX"}, "+set", ""},
      {{"DEL", of.waiters}, "+del", ""},
      {{"PTTL", of.lock}, "+pttl", ""},
      {{"PEXPIRE", of.lock, "1"}, "+pexpire", ""},
      {{"ZADD", of.waiters, "XX", "0", "x"}, "+zadd", ""},
      {{"ZREM", of.waiters, "x"}, "+zrem", ""},
      {{"ZSCORE", of.waiters, "x"}, "+zscore", ""},
      {{"ZCARD", of.waiters}, "+zcard", ""},
      {{"ZCOUNT", of.waiters, "0", "0"}, "+zcount", ""},
      {{"ZRANGEBYSCORE", of.waiters, "0", "0"}, "+zrangebyscore", ""},
      {{"ZREVRANGE", of.waiters, "0", "0"}, "+zrevrange", ""},
      {{"ZREVRANGEBYSCORE", of.waiters, "0", "0"}, "+zrevrangebyscore", ""},
      {{"GET", odd.fence}, key_grant("{*}", in.prefix), "names with a } in them cannot be locked"},
      {{"CLIENT", "KILL", "ID", nobody},
       "+client|kill",
       "a request of a broken connection may be carried out late"},
      {{"CLIENT", "INFO"},
       "+client|info",
       "behind a NAT or a proxy a request of a broken connection may be carried out late"},
  };
  if (has_database) all.push_back({{"SELECT", "0"}, "+select", ""});
  if (in.replicas > 0) all.push_back({{"WAIT", "0", "1"}, "+wait", ""});
  if (in.guard.count() != 0) all.push_back({{"INFO", "server"}, "+info", ""});
  all.push_back({{"SUBSCRIBE", channel}, "+subscribe", ""});  // the last: older servers take little else then
  return all;
}

}  // namespace holdfast::redis
