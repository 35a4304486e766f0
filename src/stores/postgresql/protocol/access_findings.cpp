#include <algorithm>
#include <cctype>
#include <span>

#include "stores/postgresql/protocol/findings.hpp"

namespace holdfast::sql::postgresql {

namespace {

using grade = finding::grade;
using grant = server_facts::grant;

/// For a part of a URL.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string all;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((std::isalnum(byte) != 0 && byte < 0x80) ||
        std::string_view{"-._~/"}.find(c) != std::string_view::npos) {
      all += c;
    } else {
      all.append({'%', digits[byte / 16], digits[byte % 16]});
    }
  }
  return all;
}

/// A command that can be pasted: the URL for the role that may grant.
std::string grants_of(const server_facts& facts, const expectation& of) {
  const std::string user = facts.value("user");
  if (!is_plain_role(user)) {
    return "the name " + user + " takes quotes: as the owner GRANT USAGE ON SCHEMA " +
           quoted(of.names.schema(), '"') +
           ", and EXECUTE on the routines that holdfast schema URL&grant_lock= prints";
  }
  const std::string maker = facts.value("maker");
  std::string url = "postgresql://" + (maker.empty() ? "" : percent_encoded(maker) + '@');
  url += of.socket_folder.empty() ? of.server : "";
  url += '/' + percent_encoded(facts.value("database")) + '?';
  if (!of.socket_folder.empty()) url += "host=" + percent_encoded(of.socket_folder) + '&';
  if (!of.socket_folder.empty() && !of.server.empty()) url += "port=" + of.server + '&';
  url += "grant_lock=" + user;
  if (const std::string table = of.names.plain(); table != "public.holdfast_locks") url += "&table=" + table;
  return "holdfast schema '" + url + "' --apply";
}

std::string meaning_of_excess(const std::string& kind, bool writes) {
  if (kind == "SCHEMA")
    return "such a role may put functions of the same names beside Holdfast's, which then fails";
  if (kind == "FUNCTION") return "whoever may execute it may lock, or end everybody's locks";
  return writes ? "whoever may write the tables may end everybody's locks, and nobody needs to"
                : "whoever may read the tables sees the ids by which clients are notified, and nobody "
                  "needs to";
}

/// For a statement. A routine's name is before its types, in which there is no parenthesis.
std::string full_name(const grant& of, const naming& names) {
  if (of.kind == "SCHEMA") return quoted(of.object, '"');
  const std::size_t types = of.kind == "FUNCTION" ? of.object.rfind('(') : of.object.size();
  return quoted(names.schema(), '"') + "." + quoted(of.object.substr(0, types), '"') +
         of.object.substr(types);
}

void add_member(const grant& of, report& to) {
  to.add(
      "access", grade::warning, "the role " + of.role + " is a member of " + of.object,
      of.object == "pg_write_all_data"
          ? "such a role may write the tables, and end everybody's locks"
          : "such a role may act as the owner of Holdfast's objects: replace routines, and write the tables",
      "REVOKE " + quoted(of.object, '"') + " FROM " + role_name(of.role));
}

/// The rights of a role on one object, or to execute routines.
void add_excess(std::span<const grant> grants, const naming& names, report& to) {
  const grant& first = grants.front();
  const bool executes = first.kind == "FUNCTION";
  std::string rights;
  std::string objects;
  std::string in_full;
  bool writes = false;
  for (const grant& each : grants) {
    if (!executes || rights.empty()) rights.append(rights.empty() ? "" : ", ").append(each.right);
    writes = writes || !each.right.starts_with("SELECT");
    if (!executes && !objects.empty()) continue;  // the same one
    objects.append(objects.empty() ? "" : ", ").append(each.object);
    in_full.append(in_full.empty() ? "" : ", ").append(full_name(each, names));
  }
  to.add(
      "access", grade::warning,
      (first.role == "public" ? "everybody" : "the role " + first.role) + " has " + rights + " on " + objects,
      meaning_of_excess(first.kind, writes),
      "REVOKE " + rights + " ON " + first.kind + " " + in_full + " FROM " + role_name(first.role));
}

}  // namespace

/// Too few of them.
void examine_rights(const server_facts& facts, const expectation& of, report& to) {
  const std::string user = facts.value("user");
  if (!facts.is("uses_schema")) {
    return to.add("rights", grade::broken,
                  "the user " + user + " lacks USAGE on the schema " + of.names.schema(),
                  "locks fail with errc::permission_denied", grants_of(facts, of));
  }
  std::string lacking;
  bool looks = true;
  for (const routine& each : routines) {
    const auto found = facts.routines_there.find(plain_signature(each, of.names));
    if (each.may_execute == access::part || found == facts.routines_there.end() || found->second) continue;
    lacking.append(lacking.empty() ? "" : " ").append(of.names.bare(each.name));
    looks = looks && each.may_execute == access::lock;
  }
  if (lacking.empty()) return to.kept("rights", "the user " + user + " may execute all routines");
  to.add("rights", grade::broken, "the user " + user + " may not execute " + lacking,
         looks ? "the user may look; locks fail with errc::permission_denied"
               : "locks fail with errc::permission_denied",
         grants_of(facts, of));
}

/// Too many of them.
void examine_access(const server_facts& facts, const expectation& of, report& to) {
  if (facts.excess.empty()) {
    return to.kept("access",
                   "no other role but superusers may change tables, routines or schema, but by the routines");
  }
  for (auto one = facts.excess.begin(); one != facts.excess.end();) {
    const auto end = std::find_if_not(one, facts.excess.end(), [&](const grant& other) {
      return other.role == one->role && other.kind == one->kind &&
             (one->kind == "FUNCTION" || other.object == one->object);
    });
    if (one->kind == "ROLE") {
      add_member(*one, to);
    } else {
      add_excess({one, end}, of.names, to);
    }
    one = end;
  }
}

}  // namespace holdfast::sql::postgresql
