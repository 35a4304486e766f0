#include "stores/postgresql/protocol/server_facts.hpp"

#include <algorithm>
#include <utility>

#include "stores/postgresql/protocol/findings.hpp"
#include "stores/postgresql/protocol/texts.hpp"

namespace holdfast::sql::postgresql {

namespace {

using namespace std::chrono_literals;
using grade = finding::grade;

/// On a busy name minutes of dead row versions are enough to be felt.
constexpr std::chrono::seconds old_transaction = 5min;

constexpr const char* apply = "holdfast schema URL --apply, as a user with the rights";

/// The conditions of a server and a store, each with its findings.
class examination {
 public:
  examination(const server_facts& facts, const expectation& of)
      : facts_{facts}, of_{of}, found_{facts.place} {}

  std::vector<finding> run() && {
    if (facts_.has_read("settings")) examine_settings();
    if (facts_.has_read("session")) examine_line();
    if (facts_.password_unused) {
      found_.add("password", grade::warning, "the client gives a password, and the server did not ask for it",
                 "a wrong one is let in, too, until the day on which the server asks for it",
                 "scram-sha-256 in place of trust or peer in the line of pg_hba.conf; or give no password");
    }
    if (facts_.has_read("store")) examine_store();
    if (facts_.has_read("rights of others")) examine_access(facts_, of_, found_);
    if (facts_.has_read("transactions")) examine_transactions();
    if (facts_.has_read("clock")) {
      found_.add_clock(facts_.clock_ahead);
      found_.add_round_trip(facts_.round_trip);
    }
    found_.add_unread(facts_);
    return std::move(found_).take();
  }

 private:
  void examine_settings() {
    found_.kept("version", "PostgreSQL " + facts_.value("version"));
    examine_role();
    examine_encoding();
    examine_persistence(facts_, of_, found_);
    examine_replicas(facts_, found_);
    examine_vacuum();
    found_.add_connections(facts_.number("connections"), facts_.number("most_connections"),
                           "ALTER SYSTEM SET max_connections to more, and restart; or fewer clients");
  }

  /// Which rights this user has is among the settings.
  void examine_store() {
    examine_owner();
    if (!facts_.has_read("settings")) return;
    examine_schema();
    if (is_there()) examine_rights(facts_, of_, found_);
  }

  void examine_role() {
    if (facts_.is("standby")) {
      return found_.add("role", grade::broken, "it is a standby",
                        "it takes no writes: no lock can be acquired or renewed",
                        "let the store's URL lead to the primary: host=a,b&target_session_attrs=read-write");
    }
    if (facts_.value("read_only") == "on") {
      return found_.add(
          "role", grade::broken, "default_transaction_read_only is on for this user",
          "it takes no writes of this user: no lock can be acquired or renewed",
          "ALTER ROLE " + role_name(facts_.value("user")) +
              " SET default_transaction_read_only = off, or likewise ALTER DATABASE, ALTER SYSTEM");
    }
    found_.kept("role", "it is a primary");
  }

  void examine_line() {
    using line = server_facts::line;
    if (facts_.way == line::switched) {
      return found_.add("pooler", grade::broken,
                        "a connection pooler switches the session between transactions",
                        "notifications and prepared calls get lost: clients refuse it (errc::unavailable)",
                        "connect directly, or set the pooler's pool_mode = session");
    }
    if (facts_.way == line::pooled && !of_.pooled) {
      return found_.add("pooler", grade::broken, "a connection pooler is in front of the server",
                        "clients refuse it (errc::unavailable), because it may switch sessions",
                        "connect directly, or add pooler=session to the URL if it pools sessions");
    }
    found_.kept("pooler",
                facts_.way == line::pooled ? "there is one, which kept this session" : "there is none");
  }

  void examine_encoding() {
    const std::string encoding = facts_.value("encoding");
    if (encoding == "UTF8" || encoding == "SQL_ASCII")
      return found_.kept("encoding", "the database's is " + encoding);
    found_.add("encoding", grade::broken, "the database's is " + encoding,
               "it cannot represent every name: clients refuse it (errc::foreign_store)",
               "CREATE DATABASE locks ENCODING 'UTF8' TEMPLATE template0, for the locks");
  }

  void examine_owner() {
    if (facts_.stranger.empty()) return found_.kept("owner", "all objects belong to roles that are trusted");
    found_.add(
        "owner", grade::broken, facts_.stranger + ", whom clients do not trust",
        "they run nothing of that role, and refuse the store (errc::foreign_store)",
        "ALTER TABLE, FUNCTION or SCHEMA ... OWNER TO a trusted role; or owner=ROLE in the URL, if that "
        "role is trusted");
  }

  [[nodiscard]] bool is_there() const { return facts_.tables_there > 0 || !facts_.routines_there.empty(); }
  [[nodiscard]] std::string missing_part() const {
    if (facts_.tables_there < tables.size()) return "a table";
    for (const routine& each : routines) {
      const std::string signature = plain_signature(each, of_.names);
      if (!facts_.routines_there.contains(signature)) return "the routine " + signature;
    }
    return {};
  }

  /// Tables and routines, and their versions.
  void examine_schema() {
    const std::string table = of_.names.plain();
    if (!facts_.foreign_table.empty()) {
      return found_.add("schema", grade::broken, "the table " + facts_.foreign_table + " is not Holdfast's",
                        "clients refuse it (errc::foreign_store)",
                        "name another table with table= in the URL");
    }
    const bool newer = facts_.layout > layout_number || facts_.routines.number > own_revision().number;
    const std::string missing = missing_part();
    if (newer && (facts_.layout > layout_number || !missing.empty())) {
      return found_.add("schema", grade::broken, table + " was made by a newer Holdfast",
                        "this version refuses it (errc::foreign_store)", "update this Holdfast");
    }
    if (newer)
      return found_.kept("schema", table + " was made by a newer Holdfast, whose routines serve this one");
    if (!facts_.stranger.empty()) return;  // nothing of it was called
    if (!facts_.may_ask_version) {
      return found_.add(
          "schema", grade::unknown,
          "this user may not execute " + of_.names.bare("layout") + " or " + of_.names.bare("revision"),
          "the version of " + table + " is not known, and clients of this user fail",
          "GRANT EXECUTE ON FUNCTION " + of_.names.quoted("layout") + "(), " + of_.names.quoted("revision") +
              "() TO PUBLIC, as the owner");
    }
    const bool complete = missing.empty() && facts_.layout == layout_number;
    if (complete && facts_.routines.number == own_revision().number) {
      return found_.kept("schema",
                         table + " is complete, and of revision " + std::to_string(own_revision().number));
    }
    examine_shortage(missing);
  }

  /// The next client that locks makes what is missing, where it may.
  void examine_shortage(const std::string& missing) {
    const std::string table = of_.names.plain();
    std::string observed = "there is no " + table + " yet";
    if (is_there() && !missing.empty()) observed = missing + " of " + table + " is missing";
    if (is_there() && missing.empty())
      observed = "the routines of " + table + " have revision " + std::to_string(facts_.routines.number) +
                 ", and this version has " + std::to_string(own_revision().number);
    if (of_.create && facts_.is("creates")) {
      if (!is_there()) return found_.kept("schema", observed + "; the first client that locks makes it");
      return found_.add("schema", grade::warning, observed,
                        "the next client that locks makes it, if it may: others fail", apply);
    }
    found_.add("schema", grade::broken,
               observed + (of_.create ? ", and this user may not make it" : ", and create=0"),
               of_.create ? "locks fail with errc::permission_denied" : "locks fail with errc::unavailable",
               apply);
  }

  /// Names that are locked often leave dead row versions behind.
  void examine_vacuum() {
    const std::string slower =
        "dead row versions stay, and names that are locked often get slower and slower";
    for (const char* setting : {"autovacuum", "track_counts"}) {
      if (facts_.value(setting) == "on") continue;
      return found_.add("vacuum", grade::warning, std::string{setting} + " is off", slower,
                        std::string{"ALTER SYSTEM SET "} + setting + " = on; SELECT pg_reload_conf()");
    }
    if (const std::string passed_over = facts_.value("not_vacuumed"); !passed_over.empty()) {
      const std::string table = passed_over.substr(passed_over.find(' ') + 1);
      return found_.add("vacuum", grade::warning, "autovacuum passes over " + table, slower,
                        "ALTER TABLE " + quoted(of_.names.schema(), '"') + "." + quoted(table, '"') +
                            " RESET (autovacuum_enabled)");
    }
    found_.kept("vacuum", "autovacuum is on");
  }

  void examine_transactions() {
    const std::string slower =
        "no vacuum removes the dead row versions since then: names that are locked often get slower and "
        "slower";
    const auto& all = facts_.transactions;  // the oldest first
    if (!all.empty() && all.front().age && *all.front().age >= old_transaction) {
      const auto& oldest = all.front();
      const bool prepared = oldest.kind == "prepared";
      return found_.add("transactions", grade::warning,
                        (prepared ? "the prepared transaction " + oldest.name
                                  : "the transaction of the session " + oldest.name) +
                            " is " + text_of(*oldest.age) + " old",
                        slower,
                        (prepared ? "if nobody will commit it: ROLLBACK PREPARED " + quoted(oldest.name, '\'')
                                  : "look first: SELECT * FROM pg_stat_activity WHERE pid = " + oldest.name +
                                        "; then SELECT pg_terminate_backend(" + oldest.name + ")") +
                            "; a database of its own for the locks");
    }
    const auto hidden = std::ranges::count(all, "hidden", &server_facts::transaction::kind);
    if (hidden > 0) {
      return found_.add("transactions", grade::unknown,
                        "this user may not see the transactions of " + std::to_string(hidden) + " sessions",
                        "with an old one " + slower.substr(slower.find(": ") + 2),
                        "GRANT pg_read_all_stats TO " + role_name(facts_.value("user")));
    }
    found_.kept("transactions", "none of this database is older than " + text_of(old_transaction));
  }

  const server_facts& facts_;
  const expectation& of_;
  report found_;
};

}  // namespace

std::string quoted(std::string_view name, char quote) {
  std::string all(1, quote);
  for (const char c : name) all.append(c == quote ? 2 : 1, c);
  return all + quote;
}

std::string role_name(const std::string& role) { return role == "public" ? "PUBLIC" : quoted(role, '"'); }

std::string plain_signature(const routine& each, const naming& names) {
  return names.bare(each.name).append("(").append(each.parameters) + ')';
}

std::string_view conditions() { return text::conditions; }
std::string_view callable() { return text::callable; }
std::string excess(const naming& names) {
  constexpr std::string_view owner = "{OWNER}";
  std::string all = owners(names);
  return all.replace(all.find(owner), owner.size(), "$1").append("\n").append(text::excess);
}
std::string_view transactions() { return text::transactions; }

std::string granted_routines(const naming& names) {
  std::string all;
  for (const routine& each : routines) {
    if (each.may_execute == access::lock) all.append(plain_signature(each, names)) += '\n';
  }
  return all;
}

bool server_facts::is(std::string_view name) const { return value(name) == "true"; }

std::vector<finding> findings_of(const server_facts& facts, const expectation& of) {
  return examination{facts, of}.run();
}

}  // namespace holdfast::sql::postgresql
