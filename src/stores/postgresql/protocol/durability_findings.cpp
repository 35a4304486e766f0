#include <algorithm>
#include <cctype>

#include "stores/postgresql/protocol/findings.hpp"

namespace holdfast::sql::postgresql {

namespace {

using grade = finding::grade;

/// How many standbys a commit waits for: "FIRST 2 (a, b)", "ANY 2 (*)", "2 (a, b)", "a, b".
std::int64_t wanted_standbys(std::string_view names) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  const auto skip = [&](auto matches) {
    names.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(names, matches) - names.begin()));
  };
  skip(is_space);
  const std::string_view from_word = names;
  skip([](unsigned char c) { return std::isalpha(c) != 0; });
  std::string word{from_word.substr(0, from_word.size() - names.size())};
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  skip(is_space);
  const std::int64_t number = number_in(names);
  skip([](unsigned char c) { return std::isdigit(c) != 0; });
  skip(is_space);
  const bool has_number = names.starts_with('(') && (word.empty() || word == "first" || word == "any");
  return has_number ? std::max<std::int64_t>(number, 1) : 1;
}

std::string counted(std::int64_t standbys) {
  return std::to_string(standbys) + (standbys == 1 ? " standby" : " standbys");
}

/// With mode=session a crash that takes back grants ends all sessions, too.
void add_careless(const std::string& observed, const std::string& holders, const std::string& remedy,
                  const expectation& of, report& to) {
  if (of.session) {
    return to.add("persistence", grade::warning, observed,
                  "a crash takes back the last grants" + holders +
                      ", and ends all sessions: tokens may repeat, if the clock is set back meanwhile",
                  remedy);
  }
  to.add("persistence", grade::broken, observed,
         "a crash takes back the last grants" + holders + ", and they are granted again", remedy);
}

}  // namespace

/// Condition 2: it keeps what it has answered.
void examine_persistence(const server_facts& facts, const expectation& of, report& to) {
  const std::string commits = facts.value("synchronous_commit");
  if (facts.value("fsync") != "on") {
    return to.add("persistence", grade::broken, "fsync is off",
                  "a power loss may damage the tables, and two may hold without a bound",
                  "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()");
  }
  if (commits == "off") {
    return add_careless("synchronous_commit is off", " that were answered",
                        "ALTER ROLE " + role_name(facts.value("user")) +
                            " SET synchronous_commit = on, or likewise ALTER DATABASE, ALTER SYSTEM",
                        of, to);
  }
  if (const std::string careless = facts.value("careless"); !careless.empty()) {
    return add_careless("synchronous_commit is off for the role " + careless + ", which may lock",
                        " of that role",
                        "ALTER ROLE " + role_name(careless) +
                            " SET synchronous_commit = on, or likewise ALTER ROLE ... IN DATABASE",
                        of, to);
  }
  if (const std::string careless = facts.value("careless_database"); !careless.empty()) {
    return add_careless("synchronous_commit is off for the database " + careless +
                            ", and so for every role without a setting of its own",
                        " of other roles",
                        "ALTER DATABASE " + quoted(careless, '"') + " SET synchronous_commit = on", of, to);
  }
  if (facts.value("full_page_writes") != "on") {
    return to.add("persistence", grade::warning, "full_page_writes is off",
                  "a power loss may damage the tables, unless the file system writes pages in one piece",
                  "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()");
  }
  to.kept("persistence", "fsync is on, synchronous_commit is " + commits);
}

namespace {

/// A commit waits for no standby.
void examine_asynchronous(const server_facts& facts, std::int64_t standbys, report& to) {
  const std::string forgets =
      "a standby that is promoted does not know the last grants, and grants them again";
  const std::int64_t idle = facts.number("idle_slots");
  if (standbys == 0 && idle == 0) return to.kept("replicas", "it has no standby, and so no failover");
  if (standbys == 0) {
    return to.add("replicas", grade::warning,
                  "no standby is connected, and " + std::to_string(idle) +
                      (idle == 1 ? " replication slot waits" : " replication slots wait") + " for one",
                  forgets,
                  "start the standby, and have commits wait for it (synchronous_standby_names); or, if there "
                  "is none any more: SELECT pg_drop_replication_slot(" +
                      quoted(facts.value("idle_slot"), '\'') + ')');
  }
  const std::string names = facts.value("standby_names");
  const std::string setting =
      names.empty() ? "'ANY 1 (...)', with the application_name of each standby in the parentheses"
                    : quoted("ANY 1 (" + names + ')', '\'');
  to.add("replicas", grade::warning, "it has " + counted(standbys) + ", and none is synchronous", forgets,
         "ALTER SYSTEM SET synchronous_standby_names = " + setting +
             "; SELECT pg_reload_conf(); all commits of this server then wait for it: have two");
}

}  // namespace

/// Condition 2: failover to synchronous standbys alone.
void examine_replicas(const server_facts& facts, report& to) {
  if (facts.is("standby")) return;
  const std::int64_t standbys = facts.number("standbys");
  const std::string names = facts.value("synchronous_standby_names");
  const std::string commits = facts.value("synchronous_commit");
  if (names.empty()) return examine_asynchronous(facts, standbys, to);
  if (commits != "on" && commits != "remote_apply") {
    return to.add("replicas", grade::warning,
                  "synchronous_standby_names is set, and synchronous_commit is " + commits,
                  "a standby that is promoted may not know the last grants, and grants them again",
                  "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()");
  }
  if (standbys > 0 && !facts.is("sees_all")) {
    return to.add("replicas", grade::unknown,
                  "it has " + counted(standbys) + ", and this user may not see of which kind",
                  "without a synchronous one all commits wait, and no lock can be acquired or renewed",
                  "GRANT pg_read_all_stats TO " + role_name(facts.value("user")));
  }
  const std::int64_t wanted = wanted_standbys(names);
  const std::int64_t synchronous = facts.number("synchronous_standbys");
  if (synchronous < wanted) {
    return to.add(
        "replicas", grade::broken,
        "synchronous_standby_names asks for " + counted(wanted) + ", and " + std::to_string(synchronous) +
            " of its names " + (synchronous == 1 ? "is" : "are") + " connected",
        "all commits wait for more: no lock can be acquired or renewed",
        "start the standby; or, without it, ALTER SYSTEM SET synchronous_standby_names to fewer, or "
        "ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()");
  }
  to.kept("replicas", "it has " + counted(standbys) + ", of which " + std::to_string(synchronous) +
                          " synchronous: fail over to no other");
}

}  // namespace holdfast::sql::postgresql
