#include "protocol/sql/postgresql/schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "protocol/sql/postgresql/texts.hpp"

namespace holdfast::sql::postgresql {

namespace {

/// FNV-1a: tables of one database that come to the same number hear of one another's changes, no more.
std::uint32_t number_of(const naming& names) {
  std::uint32_t hash = 2166136261U;
  for (const char c : names.plain()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// Others' advisory locks are of other numbers.
std::string key_of(std::int32_t what, const naming& names) {
  return std::to_string(what) + ", " + std::to_string(static_cast<std::int32_t>(number_of(names)));
}

/// Those that others call come first, and last the one that says that all of them are there.
constexpr auto files = std::to_array<std::string_view>(
    {text::schema,  text::now,      text::changed,   text::gone,  text::bury,    text::serve,
     text::place,   text::acquire,  text::find,      text::look,  text::renew,   text::extend,
     text::release, text::withdraw, text::downgrade, text::evict, text::inspect, text::list,
     text::page,    text::sweep,    text::abandon,   text::track, text::layout});

std::string fingerprint() {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::string_view file : files) {
    for (const char c : file) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) hex += digits[(hash >> static_cast<unsigned>(shift)) & 15U];
  return hex;
}

/// "schema"."locks_acquire"(text, …), of all that this access is enough for.
std::string functions(const naming& names, access from, access upto) {
  std::string all;
  for (const routine& each : routines) {
    if (each.may_execute < from || each.may_execute > upto) continue;
    all.append(all.empty() ? "" : ",\n  ")
        .append(names.quoted(each.name))
        .append("(")
        .append(each.parameters) += ')';
  }
  return all;
}

/// Where an upgrade adds a routine, whoever may execute the old one may execute that as well.
std::string inheritance(const naming& names, std::string_view old, access to) {
  std::string all =
      "\nDO $$\nDECLARE\n  added regprocedure;\n  grantee name;\nBEGIN\n"
      "  FOR added IN SELECT p.oid FROM pg_proc p WHERE p.proacl IS NULL AND p.oid = ANY (ARRAY[";
  bool first = true;
  std::string of_old;
  for (const routine& each : routines) {
    const std::string signature = names.quoted(each.name).append("(").append(each.parameters) + ')';
    if (each.name == old) of_old = signature;
    if (each.may_execute != to) continue;
    all.append(first ? "\n    '" : ",\n    '").append(signature).append("'::regprocedure");
    first = false;
  }
  return all
      .append(
          "]::regprocedure[]::oid[]) LOOP\n    FOR grantee IN SELECT pg_get_userbyid(x.grantee) FROM pg_proc "
          "p, aclexplode(p.proacl) x\n"
          "                    WHERE p.oid = '")
      .append(of_old)
      .append(
          "'::regprocedure AND x.grantee NOT IN (0, p.proowner) LOOP\n"
          "      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', added, grantee);\n"
          "    END LOOP;\n  END LOOP;\nEND $$;\n");
}

}  // namespace

bool is_ours(std::string_view table, std::string_view columns) {
  if (table == "locks")
    return columns == "name text, token bigint, granted bigint, oldest bigint, capacity bigint";
  const auto starts = [&](std::string_view first, std::string_view later) {
    return columns == first || columns == std::string{first}.append(later);
  };
  if (table == "claims") {
    return starts(
        "name text, token bigint, owner bytea, client bytea, weight bigint, ttl bigint, expires bigint, "
        "since bigint, "
        "metadata text",
        ", login oid");
  }
  return starts("swept bigint", ", id smallint, walked text, watched bigint");
}

revision revision::parse(std::string_view text) {
  revision found;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), found.number);
  if (read.ec != std::errc{} || read.ptr == text.data() + text.size() || *read.ptr != ' ') return {};
  found.fingerprint = text.substr(static_cast<std::size_t>(read.ptr - text.data()) + 1);
  return found;
}

const revision& own_revision() {
  static const revision own{2, fingerprint()};
  return own;
}

std::string schema(const naming& names) {
  std::string all;
  for (const std::string_view file : files) all.append(all.empty() ? "" : "\n").append(names.fill(file));
  replace(all, "{CHANGED}", "holdfast_changed_" + std::to_string(number_of(names)));
  replace(all, "{FOREVER}", std::to_string(forever.count()));
  replace(all, "{OWN}", "decode(current_setting('holdfast.session', true), 'hex')");
  replace(all, "{LAYOUT}", std::to_string(layout_number));
  replace(all, "{REVISION}", own_revision().text());
  all.append(inheritance(names, "acquire", access::lock)).append(inheritance(names, "inspect", access::look));
  return all
      .append("\n-- Nobody but the owner, until a role is granted more.\nREVOKE EXECUTE ON FUNCTION\n  ")
      .append(functions(names, access::part, access::lock))
      .append("\nFROM PUBLIC;\n");
}

std::string grants(const naming& names, std::string_view role, access to) {
  const bool everybody = role == "public";
  const std::string grantee = everybody ? "PUBLIC" : '"' + std::string{role} + '"';
  const std::string schema = '"' + names.schema() + '"';
  std::string all = "DO $$ BEGIN\n  IF NOT has_schema_privilege('" + std::string{role} + "', '" +
                    names.schema() + "', 'USAGE') THEN GRANT USAGE ON SCHEMA " + schema + " TO " + grantee +
                    "; END IF;\nEND $$;\n";
  return all.append("GRANT EXECUTE ON FUNCTION\n  ")
      .append(functions(names, access::look, to))
      .append("\nTO ")
      .append(grantee)
      .append(";\n");
}

bool is_plain_role(std::string_view name) {
  return !name.empty() && name.find_first_of("\"'$\\") == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

std::string script(const naming& of, const std::vector<std::string>& lockers,
                   const std::vector<std::string>& lookers) {
  const naming names = of.schema().empty() ? of.in("public") : of;
  std::string all = "-- Where Holdfast keeps the locks of " + names.plain() + ": tables and routines.\n";
  all.append(
         "BEGIN;\nSET LOCAL client_min_messages = warning;\nSET LOCAL search_path = pg_catalog, pg_temp;\nDO "
         "$$ BEGIN "
         "PERFORM pg_advisory_xact_lock(")
      .append(making_key(names))
      .append("); END $$;\n\n")
      .append(schema(names));
  for (const std::string& each : lockers) all.append("\n").append(grants(names, each, access::lock));
  for (const std::string& each : lookers) all.append("\n").append(grants(names, each, access::look));
  return all.append("\nCOMMIT;\n");
}

std::string statement_of(const call& what, const naming& names) {
  // `renew` is for older clients, which do not know that a row may be passed over.
  std::string text = "SELECT * FROM " + names.quoted(what.routine == "renew" ? "extend" : what.routine) + '(';
  for (std::size_t i = 1; i <= what.in.size(); ++i) {
    text.append(i == 1 ? "$" : ", $").append(std::to_string(i));
  }
  return text + ')';
}

std::string channel_of(const owner_id& client) { return "holdfast_" + client.hex(); }

std::string making_key(const naming& names) { return key_of(0x4D616B65, names); }  // "Make"

}  // namespace holdfast::sql::postgresql
