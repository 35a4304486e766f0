#include "stores/redis/protocol/server_facts.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "holdfast/options.hpp"
#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using namespace std::chrono_literals;
using grade = finding::grade;

constexpr auto slow_script = 50ms;
constexpr auto far_ahead = 1s;   // of a clock: more than round trips and their halves explain
constexpr int nearly_full = 90;  // percent

std::string text_of(milliseconds length) {
  if (length % 1s == 0ms) return std::to_string(length / 1s) + " s";
  return std::to_string(length.count()) + " ms";
}

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The conditions of one server, each with its finding.
class examination {
 public:
  examination(const server_facts& facts, const dialect& in, milliseconds longest_ttl)
      : facts_{facts}, in_{in}, longest_ttl_{longest_ttl} {}

  std::vector<finding> run() && {
    if (facts_.info.empty()) {
      add("information", grade::unknown, "this user may not call INFO",
          "persistence, eviction, memory and replicas were not examined",
          "ACL SETUSER " + facts_.user + " +info");
    } else {
      examine_version();
      examine_role();
      examine_persistence();
      examine_disk();
      examine_eviction();
      examine_memory();
      examine_connections();
      examine_replicas();
    }
    examine_guard();
    examine_clock();
    examine_scripts();
    examine_access();
    examine_rights();
    return std::move(found_);
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    found_.push_back({facts_.place, std::move(condition), result, std::move(observed), std::move(meaning),
                      std::move(remedy)});
  }

  void examine_version() {
    const std::string version = facts_.field("redis_version");
    if (number_in(version) >= 7 || version.starts_with("6.2")) return add("version", grade::kept, version);
    add("version", grade::warning, version + " is an old version",
        "it has no CLIENT INFO: behind a proxy or a NAT a request of a broken connection may be carried out "
        "late",
        "update to Redis 6.2 or newer, or to Valkey");
  }

  void examine_role() {
    if (facts_.field("role") == "master") return add("role", grade::kept, "it is a primary");
    add("role", grade::broken, "it is a replica of " + facts_.field("master_host"),
        "it takes no writes: no lock can be acquired or renewed",
        "let the store's URL lead to the primary; with Sentinels, write redis+sentinel://");
  }

  /// Condition 2: it keeps what it has answered, or the guard is on.
  void examine_persistence() {
    const bool appends = facts_.field("aof_enabled") == "1";
    const std::string sync = facts_.setting("appendfsync");
    std::string observed = "appendonly is no";
    if (appends) observed = "appendonly is yes, appendfsync " + (sync.empty() ? "not known" : "is " + sync);
    if (appends && sync == "always") return add("persistence", grade::kept, observed);
    if (in_.guard.count() != 0) {
      return add("persistence", grade::kept,
                 observed + "; after a restart that may forget, nothing is granted for the " +
                     in_.guard_option + " of " + text_of(in_.guard));
    }
    const std::string remedy = std::string{"remove "} + in_.guard_option + "=0 from the store's URL, or: " +
                               "CONFIG SET appendonly yes; CONFIG SET appendfsync always";
    if (appends && sync.empty()) {
      return add("persistence", grade::unknown, observed + ", and the guard is off",
                 "unless it is always, a restart forgets locks that are held, and they are granted again",
                 remedy);
    }
    add("persistence", grade::broken, observed + ", and the guard is off",
        "a restart forgets locks that are held, and they are granted again", remedy);
  }

  /// A server that cannot write refuses all writes.
  void examine_disk() {
    const std::array<std::pair<const char*, const char*>, 2> states{
        {{"aof_last_write_status", "write to the append-only file"}, {"rdb_last_bgsave_status", "snapshot"}}};
    for (const auto& [field, subject] : states) {
      const std::string state = facts_.field(field);
      if (state.empty() || state == "ok") continue;
      const bool stops =
          std::string_view{field}.starts_with("aof") || facts_.setting("stop-writes-on-bgsave-error") != "no";
      return add("disk", stops ? grade::broken : grade::warning,
                 std::string{"the last "} + subject + " has failed",
                 stops ? "it refuses writes until the next one succeeds: no lock can be acquired or renewed"
                       : "a restart would begin with old contents",
                 "look at its log and at the space and rights of its folder");
    }
    add("disk", grade::kept, "its last writes to the disk have succeeded");
  }

  /// Condition 3: it evicts no key of Holdfast.
  void examine_eviction() {
    const std::string policy = facts_.field("maxmemory_policy");
    const bool limited = facts_.number("maxmemory") != 0;
    if (!limited) return add("eviction", grade::kept, "maxmemory is not set");
    if (policy == "noeviction") return add("eviction", grade::kept, "maxmemory-policy is noeviction");
    add("eviction", grade::broken, "maxmemory-policy is " + policy,
        "when its memory is full it may evict a lock that is held, which is then granted again",
        "CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE");
  }

  void examine_memory() {
    const std::int64_t limit = facts_.number("maxmemory");
    if (limit <= 0) return;
    const std::int64_t percent = facts_.number("used_memory") / (limit / 100 + 1);
    const std::string observed = std::to_string(percent) + " % of maxmemory are in use";
    if (percent < nearly_full) return add("memory", grade::kept, observed);
    add("memory", grade::warning, observed,
        "when it is full nobody acquires any more (errc::exhausted); holders still renew and release",
        "CONFIG SET maxmemory to more, or use a server of their own for locks");
  }

  void examine_connections() {
    const std::int64_t most = facts_.number("maxclients");
    if (most <= 0) return;
    const std::int64_t percent = facts_.number("connected_clients") * 100 / most;
    const std::string observed =
        facts_.field("connected_clients") + " of " + std::to_string(most) + " connections are in use";
    if (percent < nearly_full) return add("connections", grade::kept, observed);
    add("connections", grade::warning, observed,
        "a client that cannot connect loses its leases at their deadlines", "CONFIG SET maxclients to more");
  }

  /// Condition 1: a former primary takes no writes any more when the guard of the new one is over.
  void examine_replicas() {
    if (in_.votes) return examine_replicas_of_voter();
    const std::int64_t replicas = facts_.number("connected_slaves");
    if (replicas == 0) return add("replicas", grade::kept, "it has no replica, and so no failover");
    const std::string count = std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas");
    const std::string least = facts_.setting("min-replicas-to-write");
    if (least.empty()) {
      return add("replicas", grade::unknown, "it has " + count + ", and this user may not read its settings",
                 "without min-replicas-to-write a former primary goes on granting beside the new one in a "
                 "partition",
                 "ACL SETUSER " + facts_.user + " +config|get");
    }
    if (least == "0") {
      return add(
          "replicas", grade::warning, "it has " + count + ", and min-replicas-to-write is 0",
          "after a failover in a partition this server goes on granting beside the new primary",
          "CONFIG SET min-replicas-to-write 1; CONFIG SET min-replicas-max-lag 10; CONFIG REWRITE; and "
          "former_primary=10s in the store's URL");
    }
    const milliseconds lag{1000 * number_in(facts_.setting("min-replicas-max-lag"))};
    if (in_.guard.count() == 0) {
      return add("replicas", grade::broken, "it has " + count + ", and the guard is off",
                 "a replica that is promoted does not know the last grants, and grants them again",
                 std::string{"remove "} + in_.guard_option + "=0 from the store's URL");
    }
    const milliseconds needed = longest_ttl_ + lag + 2s;
    if (in_.guard + in_.former_primary < needed) {
      return add("replicas", grade::warning,
                 "it has " + count + ", min-replicas-max-lag is " + text_of(lag) + ", and the guard is " +
                     text_of(in_.guard + in_.former_primary),
                 "a former primary may still take writes when the new one begins to grant",
                 std::string{in_.guard_option} + "=" + std::to_string(needed.count()) +
                     "ms in the store's URL, on all clients");
    }
    add("replicas", grade::kept,
        "it has " + count + ", and stops writing " + text_of(lag) + " after it lost them");
  }

  void examine_replicas_of_voter() {
    if (facts_.number("connected_slaves") == 0)
      return add("replicas", grade::kept, "it has no replica that could take its vote");
    add("replicas", grade::warning, "it has replicas",
        "a replica that is promoted in its place has forgotten its last votes; the guard covers that only "
        "where its "
        "address becomes the replica's",
        "let a server that fails come back by itself: the others are a majority without it");
  }

  void examine_guard() {
    if (in_.guard.count() == 0 || in_.guard >= longest_ttl_) return;
    add("guard", grade::broken,
        std::string{in_.guard_option} + " is " + text_of(in_.guard) + ", and the ttl with its grace is " +
            text_of(longest_ttl_),
        "such locks are refused (errc::invalid_argument): a server that forgot them could grant them again",
        std::string{in_.guard_option} + "=" + std::to_string(longest_ttl_.count()) +
            "ms in the store's URL, on all clients");
  }

  /// Only the steps of that clock matter. One that is wrong will be set.
  void examine_clock() {
    const microseconds ahead = facts_.clock_ahead;
    const auto distance = std::chrono::duration_cast<milliseconds>(microseconds{std::abs(ahead.count())});
    if (distance < far_ahead) return add("clock", grade::kept, "its clock agrees with this host's");
    add("clock", grade::warning,
        "its clock is " + text_of(distance) + (ahead.count() > 0 ? " ahead of" : " behind") + " this host's",
        "one of the two is wrong; if the server's is stepped forward, locks that are held end early",
        "timedatectl set-ntp true on both hosts; let the clock be slewed (chrony: makestep 1 3)");
  }

  void examine_scripts() {
    const auto time = std::chrono::duration_cast<milliseconds>(facts_.script_time);
    if (facts_.script_time < slow_script)
      return add("latency", grade::kept,
                 "a script takes " + std::to_string(facts_.script_time.count()) + " us, with its way");
    add("latency", grade::warning, "a script takes " + text_of(time) + ", with its way",
        "each hand-over takes that long, and short ttls may be over before they are renewed",
        "redis-cli --latency and SLOWLOG GET on that server; a ttl of many times that");
  }

  void examine_access() {
    if (!facts_.is_open) return add("access", grade::kept, "it asks for a password");
    if (facts_.is_local)
      return add("access", grade::kept, "it asks for no password, and is reached from this host");
    add("access", grade::warning, "it takes commands of everybody who reaches it",
        "whoever may write its keys may end everybody's locks",
        "ACL SETUSER locks on >SECRET ... as in docs/stores/redis.md, and ACL SETUSER default off");
  }

  void examine_rights() {
    std::string needed;
    for (const auto& denied : facts_.denials) {
      if (!denied.missing.consequence.empty()) continue;
      needed.append(needed.empty() ? "" : " ").append(denied.missing.grant);
    }
    if (!needed.empty()) {
      add("rights", grade::broken, "the user " + facts_.user + " lacks " + needed,
          "locks fail with errc::permission_denied", "ACL SETUSER " + facts_.user + " " + needed);
    }
    for (const auto& denied : facts_.denials) {
      if (denied.missing.consequence.empty()) continue;
      add("rights", grade::warning, "the user " + facts_.user + " lacks " + denied.missing.grant,
          denied.missing.consequence, "ACL SETUSER " + facts_.user + " " + denied.missing.grant);
    }
    if (facts_.denials.empty())
      add("rights", grade::kept, "the user " + facts_.user + " has all that are needed");
  }

  const server_facts& facts_;
  const dialect& in_;
  milliseconds longest_ttl_;
  std::vector<finding> found_;
};

server_facts::fields::mapped_type trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  return std::string{text};
}

}  // namespace

std::string server_facts::field(std::string_view name) const {
  const auto found = info.find(name);
  return found == info.end() ? std::string{} : found->second;
}

std::string server_facts::setting(std::string_view name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string{} : found->second;
}

std::int64_t server_facts::number(std::string_view info_field) const { return number_in(field(info_field)); }

server_facts::fields fields_in_info(const value& reply) {
  server_facts::fields all;
  if (!reply.is(value::kind::text)) return all;
  std::string_view rest = reply.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && !line.starts_with('#'))
      all.emplace(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return all;
}

server_facts::fields settings_in(const value& reply) {
  server_facts::fields all;
  if (!reply.is(value::kind::list)) return all;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
    all.emplace(reply.items[i].text, reply.items[i + 1].text);
  return all;
}

std::vector<right> needed_rights(const dialect& in, std::string_view probe, bool has_database) {
  const keys of = keys::of(in.prefix, probe);
  const keys odd = keys::of(in.prefix, std::string{probe} + "}");
  const std::string channel = "holdfast:client:" + std::string{probe};
  std::vector<right> all{
      {{"EVAL", "return 0", "0"}, "+eval", ""},
      {{"EVALSHA", std::string(40, '0'), "0"}, "+evalsha", ""},
      {{"SCAN", "0", "COUNT", "1"}, "+scan", ""},
      {{"PUBLISH", channel, ""}, "+publish", ""},
      {{"PING"}, "+ping", ""},
      {{"TIME"}, "+time", ""},
      {{"GET", of.lock}, "+get", ""},
      {{"MGET", of.lock, of.fence}, "+mget", ""},
      {{"SET", of.fence, "", "XX"}, "+set", ""},
      {{"DEL", of.waiters}, "+del", ""},
      {{"PTTL", of.lock}, "+pttl", ""},
      {{"PEXPIRE", of.lock, "1"}, "+pexpire", ""},
      {{"ZADD", of.waiters, "XX", "0", "x"}, "+zadd", ""},
      {{"ZREM", of.waiters, "x"}, "+zrem", ""},
      {{"ZSCORE", of.waiters, "x"}, "+zscore", ""},
      {{"ZRANGE", of.waiters, "0", "0"}, "+zrange", ""},
      {{"ZRANGEBYSCORE", of.waiters, "0", "0"}, "+zrangebyscore", ""},
      {{"ZREVRANGE", of.waiters, "0", "0"}, "+zrevrange", ""},
      {{"ZREVRANGEBYSCORE", of.waiters, "0", "0"}, "+zrevrangebyscore", ""},
      {{"GET", odd.fence}, "~{*}" + in.prefix + "*", "names with a } in them cannot be locked"},
      {{"CLIENT", "KILL", "ID", "0"},
       "+client|kill",
       "a request of a broken connection may be carried out late"},
      {{"CLIENT", "INFO"},
       "+client|info",
       "behind a NAT or a proxy a request of a broken connection may be carried out late"},
      {{"CLIENT", "TRACKING", "OFF"},
       "+client|tracking",
       "watches learn of changes by asking, once a second"},
      {{"CLIENT", "CACHING", "YES"}, "+client|caching", "a watch of one name is notified of all names"},
      {{"EXISTS", of.lock}, "+exists", "a watch of one name is notified of all names"},
      {{"TYPE", of.lock}, "+type", "an error for a key of another type does not name the type"},
      {{"SCRIPT", "LOAD", "return 0"},
       "+script|load",
       "a script is sent with its text when the server misses it"},
  };
  if (has_database) all.push_back({{"SELECT", "0"}, "+select", ""});
  if (in.replicas > 0) all.push_back({{"WAIT", "0", "1"}, "+wait", ""});
  if (in.guard.count() != 0) all.push_back({{"INFO", "server"}, "+info", ""});
  all.push_back({{"SUBSCRIBE", channel}, "+subscribe", ""});  // the last: older servers take little else then
  return all;
}

std::vector<finding> findings_of(const server_facts& facts, const dialect& in, milliseconds longest_ttl) {
  return examination{facts, in, longest_ttl}.run();
}

}  // namespace holdfast::redis
