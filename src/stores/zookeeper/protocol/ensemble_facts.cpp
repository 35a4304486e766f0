#include "stores/zookeeper/protocol/ensemble_facts.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace holdfast::zookeeper {

namespace {

using grade = finding::grade;
using server = ensemble_facts::server;
using std::chrono::milliseconds;

constexpr std::int64_t safe_ticks = 8;          // of a session, see the page
constexpr std::int64_t least_ticks = 2;         // likewise
constexpr std::int64_t many_outstanding = 100;  // requests that wait in a server
constexpr double slow_answers = 500;            // ms, on the average
constexpr std::int64_t largest_number = 1'000'000'000'000'000;

std::string text_of(milliseconds length) {
  if (length.count() % 1000 == 0) return std::to_string(length.count() / 1000) + " s";
  return std::to_string(length.count()) + " ms";
}

std::string in_kib(std::uint64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

/// The conditions of a server, each with its finding.
class server_examination {
 public:
  server_examination(const server& of, std::vector<finding>& to) : of_{of}, to_{to} {}

  void run() {
    if (!of_.problem.empty()) {
      return add("answer", grade::warning, of_.problem,
                 "the others have to be a majority without it; clients lose time at connecting",
                 "start the server, or look at its network and its log");
    }
    if (!of_.is_serving) {
      return add("role", grade::broken, "it serves nobody, because it knows no leader",
                 "clients connected to it lose their locks at the deadlines",
                 "start a majority of the servers; look at this one's log for its election");
    }
    examine_commands();
    if (!of_.mode().empty()) add("role", grade::kept, "it is " + described(of_.mode()));
    examine_bounds();
    examine_local_sessions();
    examine_forced_writes();
    examine_load();
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    to_.push_back({of_.place, std::move(condition), result, std::move(observed), std::move(meaning),
                   std::move(remedy)});
  }
  static std::string described(const std::string& mode) {
    if (mode == "standalone") return "a server that stands alone";
    return (mode == "observer" ? "an " : "a ") + mode;
  }

  void examine_commands() {
    std::string missing;
    for (const auto& [name, answer] :
         {std::pair{"srvr", &of_.srvr}, {"conf", &of_.conf}, {"mntr", &of_.mntr}})
      if (answer->empty()) missing.append(missing.empty() ? "" : ", ").append(name);
    if (missing.empty()) return add("information", grade::kept, "it answers to srvr, conf and mntr");
    add("information", grade::unknown, "it does not answer to " + missing,
        "its session bounds, forced writes and load were not all examined",
        "4lw.commands.whitelist=srvr,conf,mntr in its configuration, and a restart");
  }

  void examine_bounds() {
    const auto tick = of_.number(of_.conf, "tickTime");
    const auto least = of_.number(of_.conf, "minSessionTimeout");
    if (!tick || !least) return;
    const std::string observed = "minSessionTimeout is " + std::to_string(*least) + " ms, at a tick of " +
                                 std::to_string(*tick) + " ms";
    if (*least >= least_ticks * *tick) return add("session bounds", grade::kept, observed);
    add("session bounds", grade::broken, observed,
        "a session shorter than two ticks may end before its client's deadline: two may hold",
        "minSessionTimeout=" + std::to_string(least_ticks * *tick) + " in the configuration of all servers");
  }

  void examine_local_sessions() {
    const auto local = of_.number(of_.mntr, "zk_local_sessions");
    if (!local) return;
    if (*local == 0) return add("local sessions", grade::kept, "there are none");
    add("local sessions", grade::broken, std::to_string(*local) + " sessions are local",
        "the leader does not hear of a session that stays local, and ends it under its client: two may hold",
        "localSessionsEnabled=false in the configuration of all servers");
  }

  /// mntr counts forced writes, and the groups of transactions that were written: the session that looks is
  /// one.
  void examine_forced_writes() {
    const auto forced = of_.number(of_.mntr, "zk_cnt_fsynctime");
    const auto written = of_.number(of_.mntr, "zk_cnt_sync_processor_batch_size");
    const std::string look =
        "grep forceSync in zoo.cfg and in the server's Java options (zookeeper.forceSync)";
    // The first group is counted before it is forced.
    if (!forced || !written || (*forced == 0 && *written <= 1)) {
      return add("forceSync", grade::unknown, "the server does not tell whether it forces writes to its disk",
                 "without that a power cut loses locks that were granted, and tokens fall", look);
    }
    if (*forced > 0) {
      return add("forceSync", grade::kept,
                 "it forced writes to its disk " + std::to_string(*forced) + " times since its start");
    }
    add("forceSync", grade::broken,
        "it wrote " + std::to_string(*written) + " times since its start, and forced none to its disk",
        "a power cut loses locks that were granted: two may hold, and tokens fall",
        look + "; remove it and restart the server");
  }

  void examine_load() {
    const auto outstanding = of_.number(of_.mntr, "zk_outstanding_requests");
    const auto average = of_.mntr.find("zk_avg_latency");
    if (!outstanding || average == of_.mntr.end()) return;
    const std::string observed = std::to_string(*outstanding) + " requests wait, and an answer takes " +
                                 average->second + " ms on the average";
    if (*outstanding < many_outstanding && std::strtod(average->second.c_str(), nullptr) < slow_answers)
      return add("load", grade::kept, observed);
    add("load", grade::warning, observed, "beats are answered late, and leases are lost at their deadlines",
        "look at the server's disk and garbage collection; echo srst | nc HOST PORT resets the average");
  }

  const server& of_;
  std::vector<finding>& to_;
};

/// The conditions of all servers together, and of the nodes.
class examination {
 public:
  explicit examination(const ensemble_facts& facts) : facts_{facts} {}

  std::vector<finding> run() && {
    for (const server& each : facts_.servers) server_examination{each, found_}.run();
    examine_leader();
    examine_same_bounds();
    if (facts_.seen) {
      examine_size(*facts_.seen);
      examine_timeout(*facts_.seen);
      examine_access(*facts_.seen);
      examine_rights(*facts_.seen);
      examine_lists(*facts_.seen);
    }
    return std::move(found_);
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    found_.push_back({"the ensemble", std::move(condition), result, std::move(observed), std::move(meaning),
                      std::move(remedy)});
  }

  void examine_leader() {
    const auto is = [](const char* mode) { return [mode](const server& s) { return s.mode() == mode; }; };
    const auto leaders = std::ranges::count_if(facts_.servers, is("leader"));
    const auto alone = std::ranges::count_if(facts_.servers, is("standalone"));
    if (leaders > 1 || alone > 1 || (alone == 1 && facts_.servers.size() > 1)) {
      return add("leader", grade::broken, "the servers of the URL are not of one ensemble",
                 "clients that reach different ones exclude nobody: two may hold",
                 "name the servers of one ensemble, as /zookeeper/config has them");
    }
    if (facts_.seen) return add("leader", grade::kept, "the servers have granted a session");
    add("leader", grade::broken, "no session: " + facts_.session_problem,
        "no lock can be acquired or renewed, as long as no majority has a leader",
        "start a majority of the servers; look at their logs for the election");
  }

  void examine_same_bounds() {
    std::set<std::pair<std::string, std::string>> bounds;
    for (const server& each : facts_.servers) {
      const auto least = each.conf.find("minSessionTimeout");
      const auto most = each.conf.find("maxSessionTimeout");
      if (least != each.conf.end() && most != each.conf.end()) bounds.emplace(least->second, most->second);
    }
    if (facts_.servers.size() < 2 || bounds.empty()) return;
    if (bounds.size() == 1) return add("same bounds", grade::kept, "the servers bound sessions alike");
    std::string all;
    for (const auto& [least, most] : bounds)
      all.append(all.empty() ? "" : ", ").append(least).append(" to ").append(most).append(" ms");
    add("same bounds", grade::broken, "the servers bound sessions differently: " + all,
        "a session made shorter at a reconnection may end before its client's deadline: two may hold",
        "the same minSessionTimeout and maxSessionTimeout in the configuration of all servers");
  }

  /// server.1=host:2888:3888:participant;2181
  void examine_size(const ensemble_facts::session& in) {
    std::size_t votes = 0;
    std::size_t observers = 0;
    for (const auto& [name, value] : fields_in(in.members, "=")) {
      if (!name.starts_with("server.")) continue;
      ++(value.find(":observer") == std::string::npos ? votes : observers);
    }
    const std::string also =
        observers == 0 ? std::string{}
                       : " and " + std::to_string(observers) + (observers == 1 ? " observer" : " observers");
    if (votes == 0 && std::ranges::none_of(facts_.servers, &server::stands_alone)) {
      return add(
          "size", grade::unknown, "the members cannot be read from /zookeeper/config",
          "how many servers may fail is not known",
          "echo srvr | nc HOST PORT for each server; look at the ACL: getAcl /zookeeper/config (zkCli.sh)");
    }
    const std::string three = "an ensemble of three or five servers (reconfig -add, or server.N lines)";
    if (votes <= 1) {
      return add("size", grade::warning, "one server has all votes" + also,
                 "while it is away nobody gets or renews a lock; its disk lost, tokens fall", three);
    }
    const std::string observed = std::to_string(votes) + " servers have a vote" + also;
    if (votes % 2 == 0) {
      return add("size", grade::warning, observed,
                 "as many may fail as with one server less: " + std::to_string((votes - 1) / 2), three);
    }
    add("size", grade::kept, observed);
    if (facts_.servers.size() == 1) {
      add("addresses", grade::warning, "the URL names one of them",
          "clients reach nobody while that server is away", "name all servers in the URL");
    }
  }

  void examine_timeout(const ensemble_facts::session& in) {
    const std::string observed = "a session of " + text_of(in.timeout);
    if (in.timeout != facts_.requested) {
      return add("session", grade::warning,
                 observed + " was granted, and " + text_of(facts_.requested) + " requested",
                 in.timeout > facts_.requested
                     ? "what a crashed client held stays locked for longer"
                     : "leases end sooner than their ttl when servers do not answer",
                 "session_timeout within the bounds of the servers, or other bounds: minSessionTimeout, "
                 "maxSessionTimeout");
    }
    std::optional<std::int64_t> tick;
    for (const server& each : facts_.servers) {
      if (const auto known = each.number(each.conf, "tickTime")) tick = std::max(tick.value_or(0), *known);
    }
    if (tick && in.timeout.count() < safe_ticks * *tick) {
      return add("session", grade::warning, observed + ", at a tick of " + std::to_string(*tick) + " ms",
                 "while a leader is cut off from the majority, two may hold",
                 "session_timeout=" + std::to_string(safe_ticks * *tick) + "ms or more");
    }
    add("session", grade::kept, observed + ", as requested");
  }

  void examine_access(const ensemble_facts::session& in) {
    const auto is_of_world = [](const ensemble_facts::permission& p) {
      return p.scheme == "world" && (p.may & (ensemble_facts::may_create | ensemble_facts::may_delete)) != 0;
    };
    if (facts_.makes_world) {
      const std::string observed = "new nodes are everybody's (acl=world)";
      if (facts_.asks_for_world || facts_.is_local) return add("access", grade::kept, observed);
      return add(
          "access", grade::warning, observed, "whoever reaches the servers may take and end every lock",
          "acl=auth and auth=digest:USER:PASSWORD in the URLs of all clients; acl=world where it is meant");
    }
    if (in.acl && std::ranges::any_of(*in.acl, is_of_world)) {
      return add("access", grade::warning, "everybody may create or delete nodes below " + in.root,
                 "anybody can make a lock's node first, and keep the clients out",
                 "setAcl " + in.root + " with the rights of that user alone (zkCli.sh)");
    }
    add("access", grade::kept, "new nodes are for one user, who may end locks");
  }

  void examine_rights(const ensemble_facts::session& in) {
    const std::string client = facts_.user.empty() ? "a client without auth" : "the user " + facts_.user;
    const std::string remedy = "setAcl " + in.root + " (zkCli.sh), or auth=digest:USER:PASSWORD in the URL";
    if (!in.acl && !in.acl_problem.empty()) {
      return add("rights", grade::unknown, "the ACL of " + in.root + " cannot be read: " + in.acl_problem,
                 "it is not known whether " + client + " can take a lock",
                 "getAcl " + in.root + " (zkCli.sh)");
    }
    if (!in.acl) {
      return add("rights", grade::broken, client + " may not read " + in.root,
                 "it can list no queue, and so take no lock", remedy);
    }
    bool is_unknown = false;
    int may = 0;
    for (const ensemble_facts::permission& each : *in.acl) {
      const bool is_own =
          each.scheme == "digest" && !facts_.user.empty() && each.id.starts_with(facts_.user + ':');
      if (each.scheme == "world" || is_own) may |= each.may;
      if (each.scheme == "ip") is_unknown = true;
    }
    std::string missing;
    if ((may & ensemble_facts::may_read) == 0) missing = "read";
    if ((may & ensemble_facts::may_create) == 0)
      missing.append(missing.empty() ? "create below" : " and create below");
    if (missing.empty()) {
      return add("rights", grade::kept,
                 client + " may create below " + in.root +
                     (in.has_root ? "" : "; the root is not there yet, and the first lock makes it"));
    }
    add("rights", is_unknown ? grade::unknown : grade::broken, client + " may not " + missing + ' ' + in.root,
        is_unknown ? "unless the ACL of an address lets it" : "it can lock no name that has no node yet",
        remedy);
  }

  /// Servers and Java's clients refuse what is longer.
  void examine_lists(const ensemble_facts::session& in) {
    const auto buffer = static_cast<std::uint64_t>(facts_.buffer_bytes);
    const std::string most = in_kib(buffer + 1);
    if (in.largest_list_bytes > buffer / 2) {
      return add("jute.maxbuffer", grade::warning,
                 "the list of the nodes below " + in.largest_list + " takes " +
                     in_kib(in.largest_list_bytes) +
                     ", and jute.maxbuffer, which no server tells, is taken for " + most,
                 "clients of Java cannot read a longer list than that, nor queue there",
                 "fewer waiters or names there; or a higher jute.maxbuffer at all servers and clients, and "
                 "jute_maxbuffer=BYTES in the URL, with the least of them");
    }
    if (!in.unseen.empty()) {
      return add(
          "jute.maxbuffer", grade::unknown, in.unseen, "a queue may be too long for clients of Java",
          "give the locks a root of their own in the URL, and its user the right to read all below it");
    }
    const std::string which =
        in.has_more ? "the first " + std::to_string(in.lists) + " lists of nodes" : "all lists of nodes";
    add("jute.maxbuffer", grade::kept,
        "the longest of " + which + " takes " + in_kib(in.largest_list_bytes) + " of " + most);
  }

  const ensemble_facts& facts_;
  std::vector<finding> found_;
};

}  // namespace

std::string ensemble_facts::server::mode() const {
  const auto found = srvr.find("Mode");
  return found == srvr.end() ? std::string{} : found->second;
}

bool ensemble_facts::server::stands_alone() const { return mode() == "standalone"; }

std::optional<std::int64_t> ensemble_facts::server::number(const fields& in, std::string_view name) const {
  const auto found = in.find(name);
  if (found == in.end()) return std::nullopt;
  const std::string& digits = found->second;
  std::int64_t value = 0;
  const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  return std::clamp(value, -largest_number, largest_number);
}

ensemble_facts::fields fields_in(std::string_view answer, std::string_view separator) {
  ensemble_facts::fields all;
  while (!answer.empty()) {
    const std::string_view line = answer.substr(0, answer.find('\n'));
    answer.remove_prefix(std::min(answer.size(), line.size() + 1));
    const auto at = line.find(separator);
    if (at != std::string_view::npos) all.emplace(line.substr(0, at), line.substr(at + separator.size()));
  }
  return all;
}

std::vector<finding> findings_of(const ensemble_facts& facts) { return examination{facts}.run(); }

}  // namespace holdfast::zookeeper
