#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/options.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/server_facts.hpp"
#include "stores/redis/protocol/shell_words.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using namespace std::chrono_literals;
using grade = finding::grade;

constexpr const char* disk_remedy = "look at its log, and at the space and rights of its folder";
constexpr auto slow_script = 50ms;
constexpr auto far_ahead = 1s;   // of a clock: more than round trips and their halves explain
constexpr int nearly_full = 90;  // percent
constexpr long long longest_answers = 4LL << 20U;  // of one client, with all that is notified meanwhile

std::string text_of(milliseconds length) {
  if (length % 1s == 0ms) return std::to_string(length / 1s) + " s";
  return std::to_string(length.count()) + " ms";
}

/// The conditions of one server, each with its finding.
class examination {
 public:
  examination(const server_facts& facts, const dialect& in, milliseconds longest_ttl)
      : facts_{facts}, in_{in}, longest_ttl_{longest_ttl} {}

  std::vector<finding> run() && {
    if (!facts_.obstacle.empty()) {
      add("answer", grade::broken, "it serves nobody now: " + facts_.obstacle,
          "no lock can be acquired or renewed until that is over",
          "look at INFO persistence and SLOWLOG GET; for a script that runs too long: SCRIPT KILL");
    }
    if (facts_.info.empty()) {
      add("information", grade::unknown, "INFO is answered with " + facts_.info_error,
          "persistence, eviction, memory and replicas were not examined",
          "if the user may not: ACL SETUSER " + facts_.user + " +info");
    } else {
      examine_version();
      examine_role();
      examine_persistence();
      examine_disk();
      examine_eviction();
      examine_memory();
      examine_connections();
      examine_answers();
      examine_replicas();
      examine_pause();
    }
    examine_guard();
    examine_longest_guard();
    examine_clock();
    examine_scripts();
    examine_access();
    examine_password();
    examine_rights();
    examine_cluster(facts_, found_);
    examine_keys(facts_, in_, found_);
    return std::move(found_);
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    found_.push_back({facts_.place, std::move(condition), result, std::move(observed), std::move(meaning),
                      std::move(remedy)});
  }

  void examine_version() {
    const std::string version{facts_.field("redis_version")};
    if (facts_.number("redis_version") >= 7 || version.starts_with("6.2"))
      return add("version", grade::kept, version);
    add("version", grade::warning, version + " is an old version",
        "it has no CLIENT INFO: behind a proxy or a NAT a request of a broken connection may be carried out "
        "late",
        "update to Redis 6.2 or newer, or to Valkey");
  }

  void add_unknown(std::string condition, const std::string& missing) {
    add(std::move(condition), grade::unknown, "it does not say " + missing, "this was not examined",
        "look at the server by hand");
  }

  void examine_role() {
    const std::string_view role = facts_.field("role");
    if (role == "master") return add("role", grade::kept, "it is a primary");
    if (role.empty()) return add_unknown("role", "whether it is a primary");

    add("role", grade::broken, "it is a replica of " + std::string{facts_.field("master_host")},
        "it takes no writes: no lock can be acquired or renewed",
        "let the store's URL lead to the primary; with Sentinels, write redis+sentinel://");
  }

  /// Condition 2: it keeps what it has answered, or the guard is on.
  void examine_persistence() {
    const bool appends = facts_.field("aof_enabled") == "1";
    const std::string sync{facts_.setting("appendfsync")};
    std::string observed = "appendonly is no";
    if (appends) observed = "appendonly is yes, appendfsync " + (sync.empty() ? "not known" : "is " + sync);
    const std::string on_rewrite{facts_.setting("no-appendfsync-on-rewrite")};
    if (appends && sync == "always" && on_rewrite == "yes")
      observed +=
          ", no-appendfsync-on-rewrite is yes: while the file is written anew, writes go without the disk";
    if (appends && keep_each_write(facts_.settings)) return add("persistence", grade::kept, observed);
    if (in_.guard.count() != 0) {
      return add("persistence", grade::kept,
                 observed + "; after a restart that may forget, nothing is granted for the " +
                     in_.guard_option + " of " + text_of(in_.guard));
    }
    const std::string remedy = std::string{"remove "} + in_.guard_option + "=0 from the store's URL, or: " +
                               "CONFIG SET appendonly yes; CONFIG SET appendfsync always; CONFIG SET " +
                               "no-appendfsync-on-rewrite no; CONFIG REWRITE";
    if (appends && sync.empty()) {
      return add("persistence", grade::unknown, observed + ", and the guard is off",
                 "unless it is always, a restart forgets locks that are held, and they are granted again",
                 remedy);
    }
    add("persistence", grade::broken, observed + ", and the guard is off",
        "a restart forgets locks that are held, and they are granted again", remedy);
  }

  /// A server that cannot write refuses all writes, unless it makes no snapshots by itself.
  void examine_disk() {
    bool is_well = true;
    if (const auto state = facts_.field("aof_last_write_status"); !state.empty() && state != "ok") {
      is_well = false;
      add("disk", grade::broken, "the last write to the append-only file has failed",
          "it refuses writes until the next one succeeds: no lock can be acquired or renewed", disk_remedy);
    }
    if (const auto state = facts_.field("rdb_last_bgsave_status"); !state.empty() && state != "ok") {
      is_well = false;
      add_failed_snapshot();
    }
    if (is_well) add("disk", grade::kept, "its last writes to the disk have succeeded");
  }

  void add_failed_snapshot() {
    const std::string observed = "the last snapshot has failed";
    if (facts_.settings.empty()) {
      return add("disk", grade::unknown, observed + ", and this user may not read its settings",
                 "unless stop-writes-on-bgsave-error is no, or it makes no snapshots, it refuses writes",
                 disk_remedy);
    }
    const bool stops =
        facts_.setting("stop-writes-on-bgsave-error") != "no" && !facts_.setting("save").empty();
    add("disk", stops ? grade::broken : grade::warning, observed,
        stops ? "it refuses writes until the next one succeeds: no lock can be acquired or renewed"
              : "a restart would begin with old contents",
        disk_remedy);
  }

  /// Condition 3: it evicts no key of Holdfast.
  void examine_eviction() {
    const std::string policy{facts_.field("maxmemory_policy")};
    if (policy.empty()) return add_unknown("eviction", "its maxmemory-policy");
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
    const std::string observed = std::to_string(facts_.number("connected_clients")) + " of " +
                                 std::to_string(most) + " connections are in use";
    if (percent < nearly_full) return add("connections", grade::kept, observed);
    add("connections", grade::warning, observed,
        "a client that cannot connect loses its leases at their deadlines", "CONFIG SET maxclients to more");
  }

  /// A client that is subscribed has the limit of subscribers for all answers: where one is longer, the
  /// server closes the connection. The limits are "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432
  /// 8388608 60": for each kind of client the hard one, and the soft one with its seconds.
  void examine_answers() {
    const std::string limits = " " + std::string{facts_.setting("client-output-buffer-limit")};
    constexpr std::string_view kind = " pubsub ";
    const std::size_t at = limits.find(kind);
    if (at == std::string::npos) return;
    char* behind = nullptr;
    const long long hard = std::strtoll(limits.c_str() + at + kind.size(), &behind, 10);
    const long long soft = std::strtoll(behind, nullptr, 10);
    const auto is_too_low = [](long long limit) { return limit > 0 && limit < longest_answers; };
    const std::string observed = "client-output-buffer-limit" + limits.substr(at);
    if (!is_too_low(hard) && !is_too_low(soft)) return add("answers", grade::kept, observed);
    add("answers", grade::warning, observed,
        "the server closes the connection of a client that lists many locks, and its leases may be lost",
        "CONFIG SET client-output-buffer-limit 'pubsub 33554432 8388608 60'; CONFIG REWRITE");
  }

  /// Condition 1: a former primary takes no writes any more when the guard of the new one is over.
  void examine_replicas() {
    if (in_.votes) return examine_replicas_of_voter();
    const std::int64_t replicas = facts_.number("connected_slaves");
    if (replicas == 0 && !facts_.has_failover)
      return add("replicas", grade::kept, "no replica is connected to it");
    const std::string count = std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas");
    if (in_.guard.count() == 0) {
      return add("replicas", grade::broken, "it has " + count + ", and the guard is off",
                 "a replica that is promoted does not know the last grants, and grants them again",
                 std::string{"remove "} + in_.guard_option + "=0 from the store's URL");
    }
    if (facts_.settings.empty()) {
      return add("replicas", grade::unknown, "it has " + count + ", and this user may not read its settings",
                 "it is not known how long a former primary goes on granting in a partition",
                 "ACL SETUSER " + facts_.user + " +config|get");
    }
    if (facts_.number("cluster_enabled") == 1) {
      return compare_guard(count, "cluster-node-timeout",
                           milliseconds{facts_.number_set("cluster-node-timeout")});
    }
    const milliseconds lag{1000 * facts_.number_set("min-replicas-max-lag")};
    if (facts_.number_set("min-replicas-to-write") == 0 || lag.count() == 0) {
      return add("replicas", grade::warning,
                 "it has " + count + ", and min-replicas-to-write or min-replicas-max-lag is 0",
                 "after a failover in a partition this server goes on granting beside the new primary",
                 "CONFIG SET min-replicas-to-write 1; CONFIG SET min-replicas-max-lag 10; CONFIG REWRITE; "
                 "and former_primary=10s in the store's URL");
    }
    compare_guard(count, "min-replicas-max-lag", lag);
  }

  /// \param end after so long a former primary takes no writes any more.
  void compare_guard(const std::string& count, const std::string& setting, milliseconds end) {
    const milliseconds needed = longest_ttl_ + end + 2s;
    const milliseconds guard = in_.guard + in_.former_primary;
    const std::string observed =
        "it has " + count + ", " + setting + " is " + text_of(end) + ", and the guard is " + text_of(guard);
    if (guard >= needed) return add("replicas", grade::kept, observed);
    add("replicas", grade::warning, observed,
        "after a failover in a partition a former primary may still take writes when the new one grants",
        std::string{in_.guard_option} + "=" + std::to_string(needed.count()) +
            "ms in the store's URL, on all clients");
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

  /// A server that may have forgotten grants makes no new ones for a while.
  void examine_pause() {
    if (!facts_.has_guard || in_.guard.count() == 0 || facts_.info.empty()) return;
    const auto now =
        std::chrono::system_clock::now().time_since_epoch() + facts_.clock_ahead.value_or(microseconds{});
    const milliseconds left =
        pause_left(facts_, in_.guard + in_.former_primary, std::chrono::floor<milliseconds>(now));
    if (left <= 0ms) return add("pause", grade::kept, "it grants");
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    add("pause", grade::warning,
        "it has started or was promoted, may have forgotten locks, and grants nothing new for " +
            std::to_string(seconds) + " s",
        "holders renew and release; claims wait, and tries fail",
        "wait for " + std::to_string(seconds) + " s");
  }

  /// One that another client has asked for counts for all.
  void examine_longest_guard() {
    const milliseconds longest = longest_guard(facts_);
    const milliseconds own = in_.guard + in_.former_primary;
    if (in_.guard.count() == 0 || longest <= own) return;
    add("longest guard", grade::warning,
        std::string{"a client has asked for a "} + in_.guard_option + " of " + text_of(longest) +
            ", and the store's URL for " + text_of(own),
        "if the server restarts or another one takes its place, nothing new is granted for " +
            text_of(longest),
        "give all clients the same " + std::string{in_.guard_option} +
            "; the longer one is forgotten when it was not asked for in so long, or, if no lock with a "
            "longer "
            "ttl is held, at once: redis-cli DEL " +
            key_for_shell(guard_key(in_.prefix)));
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
    if (!facts_.clock_ahead) return add_unknown("clock", "the time");
    const microseconds ahead = *facts_.clock_ahead;
    const auto distance = std::chrono::duration_cast<milliseconds>(microseconds{std::abs(ahead.count())});
    if (distance < far_ahead) return add("clock", grade::kept, "its clock agrees with this host's");
    add("clock", grade::warning,
        "its clock is " + text_of(distance) + (ahead.count() > 0 ? " ahead of" : " behind") + " this host's",
        "one of the two is wrong; if the server's is stepped forward, locks that are held end early",
        "timedatectl set-ntp true on both hosts; let the clock be slewed (chrony: makestep 1 3)");
  }

  void examine_scripts() {
    if (!facts_.script_time) return add_unknown("latency", "how long a script takes: it runs none now");
    const auto time = std::chrono::duration_cast<milliseconds>(*facts_.script_time);
    if (*facts_.script_time < slow_script) {
      return add("latency", grade::kept,
                 "a script takes " + std::to_string(facts_.script_time->count()) + " us, with its way");
    }
    add("latency", grade::warning, "a script takes " + text_of(time) + ", with its way",
        "each hand-over takes that long, and short ttls may be over before they are renewed",
        "redis-cli --latency and SLOWLOG GET on that server; a ttl of many times that");
  }

  void examine_access() {
    if (!facts_.is_open) return add_unknown("access", "whether it asks everybody for a password");
    if (!*facts_.is_open) return add("access", grade::kept, "it does nothing for whoever gives no password");
    if (facts_.setting("tls-auth-clients") == "yes" && facts_.setting("port") == "0")
      return add("access", grade::kept, "it asks for a client's certificate");
    if (facts_.is_local && facts_.settings.empty())
      return add_unknown("access", "to this user whether other hosts reach it; it asks for no password");
    if (facts_.is_local && !is_reached_from_elsewhere())
      return add("access", grade::kept, "it asks for no password, and is reached from this host alone");
    add("access", grade::warning, "it takes commands of everybody who reaches it",
        "whoever may write its keys may end everybody's locks",
        "ACL SETUSER locks on >SECRET ... as in docs/stores/redis.md, and ACL SETUSER default off");
  }

  /// Without a password of its own a user is let in with any.
  void examine_password() {
    if (!facts_.gives_password || !facts_.is_open.value_or(false)) return;
    add("password", grade::warning, "the client gives a password, and the server asks for none",
        "a wrong one is let in, too, until the day on which the server gets a password",
        "CONFIG SET requirepass SECRET; CONFIG REWRITE; or give no password");
  }

  [[nodiscard]] bool is_reached_from_elsewhere() const {
    if (facts_.setting("protected-mode") == "yes" || facts_.setting("port") == "0") return false;
    std::string_view rest = facts_.setting("bind");
    if (rest.empty()) return true;
    while (!rest.empty()) {
      std::string_view address = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), address.size() + 1));
      if (address.starts_with('-')) address.remove_prefix(1);  // it may be missing
      if (!address.starts_with("127.") && address != "::1") return true;
    }
    return false;
  }

  /// An error says whether a command, a key or a channel is refused.
  void examine_rights() {
    const std::string user = "ACL SETUSER " + facts_.user + " ";
    std::string missing;
    const auto add_missing = [&](const std::string& grant) {
      missing.append(missing.empty() ? "" : " ").append(grant);
    };
    bool has_keys = true;
    bool has_channels = true;
    for (const auto& denied : facts_.denials) {
      if (!denied.missing.consequence.empty()) continue;
      const bool is_key = denied.error.find("key") != std::string::npos;
      const bool is_channel = denied.error.find("channel") != std::string::npos;
      has_keys = has_keys && !is_key;
      has_channels = has_channels && !is_channel;
      if (!is_key && !is_channel) add_missing(denied.missing.grant);
    }
    if (!has_keys)
      for (const char* before : {"", "{", "{*}"}) add_missing(key_grant(before, in_.prefix));
    if (!has_channels) add_missing("&holdfast:client:*");
    if (!missing.empty()) {
      add("rights", grade::broken, "the user " + facts_.user + " lacks " + missing,
          "locks fail with errc::permission_denied", user + missing);
    }
    for (const auto& denied : facts_.denials) {
      if (denied.missing.consequence.empty() || !has_keys) continue;
      add("rights", grade::warning, "the user " + facts_.user + " lacks " + denied.missing.grant,
          denied.missing.consequence, user + denied.missing.grant);
    }
    if (!facts_.denials.empty()) return;
    if (!facts_.obstacle.empty()) return add_unknown("rights", "which rights this user has");
    add("rights", grade::kept, "the user " + facts_.user + " has all that are needed");
  }

  const server_facts& facts_;
  const dialect& in_;
  milliseconds longest_ttl_;
  std::vector<finding> found_;
};

}  // namespace

std::vector<finding> findings_of(const server_facts& facts, const dialect& in, milliseconds longest_ttl) {
  return examination{facts, in, longest_ttl}.run();
}

}  // namespace holdfast::redis
