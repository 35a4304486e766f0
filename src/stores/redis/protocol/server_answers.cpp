// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/server_answers.hpp"

#include <algorithm>
#include <array>

#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

store::request_error request_error_of(const std::string& error) {
  struct known {
    std::string_view code;
    errc as;
    bool retryable;
    std::string_view advice{};
  };
  constexpr std::array<known, 17> all{{
      {"WRONGTYPE", errc::wrong_type, false},
      {"NOAUTH", errc::permission_denied, false,
       "; give the password, and the user in the store's URL if it is not 'default'"},
      {"WRONGPASS", errc::permission_denied, false, "; check the user in the store's URL, and the password"},
      {"NOPERM", errc::permission_denied, false,
       "; 'holdfast doctor' names all rights that are missing, docs/stores/redis.md has the line that gives "
       "them"},
      {"OOM", errc::exhausted, true,
       "; the server's memory is full: raise its maxmemory, or give locks a server of their own"},
      {"LOADING", errc::unavailable, true},
      {"BUSY", errc::unavailable, true},
      {"READONLY", errc::unavailable, true},  // a failover may be under way
      {"MASTERDOWN", errc::unavailable, true},
      {"NOREPLICAS", errc::unavailable, true},
      {"MISCONF", errc::unavailable, true},
      {"CLUSTERDOWN", errc::unavailable, true},
      {"TRYAGAIN", errc::unavailable, true},
      {"NOMASTERLINK", errc::unavailable, true},
      {"UNBLOCKED", errc::unavailable, true},
      {"MOVED", errc::unavailable, true},  // slots of a cluster move
      {"ASK", errc::unavailable, true},
  }};
  // Redis 6 wraps what goes wrong in a script: "ERR Error running script (...): @user_script:12: WRONGTYPE
  // ...".
  const bool wrapped = error.starts_with("ERR Error running script");
  const auto is = [&](std::string_view code) {
    const std::string prefix = std::string{code} + ' ';
    return error.starts_with(prefix) || (wrapped && (error.find(": " + prefix) != std::string::npos ||
                                                     error.find(": -" + prefix) != std::string::npos));
  };
  // While a slot moves, a script may lose a key on the way, and stop there. What it has written stays.
  if (error.find("Script attempted to access") != std::string::npos) {
    return {{errc::unavailable, "the server answers: " + error}, true, true};
  }
  // An error names the place in the script. What the script has written before that stays, with the
  // exceptions below: a script that may meet a key of another type reads it before it writes, and a server
  // without memory, or that takes no writes, refuses the first one alone.
  const bool in_script = error.find("@user_script") != std::string::npos;
  if (error.starts_with("ERR The user executing the script") ||
      error.starts_with("ERR ACL failure in script") || (in_script && is("NOPERM"))) {
    return {{errc::permission_denied,
             "the user lacks a right that a script needs, which holdfast doctor names; the server answers: " +
                 error},
            false,
            true};
  }
  const auto found = std::find_if(all.begin(), all.end(), [&](const known& k) { return is(k.code); });
  if (found == all.end()) return {{errc::unavailable, "the server answers: " + error}, false, in_script};
  if (found->as == errc::wrong_type) {
    return {{errc::wrong_type,
             "a key contains something that is no lock; Holdfast leaves it untouched (" + error + ")"}};
  }
  return {{found->as, "the server answers: " + error + std::string{found->advice}}, found->retryable, false};
}

bool is_denial(const value& reply) {
  return reply.is(value::kind::error) && reply.text.starts_with("NOPERM");
}

bool is_obstacle(const value& reply) {
  if (!reply.is(value::kind::error)) return false;
  return reply.text.starts_with("LOADING") || reply.text.starts_with("BUSY") ||
         reply.text.starts_with("MASTERDOWN");
}

answer_fields fields_in_info(const value& reply) {
  answer_fields all;
  if (!reply.is(value::kind::text)) return all;
  std::string_view rest = reply.text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && !line.starts_with('#'))
      all.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return all;
}

answer_fields settings_in(const value& reply) {
  answer_fields all;
  if (!reply.is(value::kind::list)) return all;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
    all.emplace(reply.items[i].text, reply.items[i + 1].text);
  return all;
}

bool keep_each_write(const answer_fields& settings) {
  const auto is = [&](const char* name, const char* text) {
    const auto found = settings.find(name);
    return found != settings.end() && found->second == text;
  };
  return is("appendonly", "yes") && is("appendfsync", "always") && is("no-appendfsync-on-rewrite", "no");
}

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
