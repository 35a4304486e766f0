// SPDX-License-Identifier: Apache-2.0
#include "stores/postgresql/protocol/schema.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "stores/postgresql/protocol/texts.hpp"

namespace holdfast::sql::postgresql {

namespace {

/// FNV-1a. Tables of one database with the same number notify one another's watchers, which is harmless.
std::uint32_t number_of(const naming& names) {
  std::uint32_t hash = 2166136261U;
  for (const char c : names.plain()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

/// Routines come before their callers. The last file makes `layout`, which shows that all of them exist.
constexpr auto files =
    std::to_array<std::string_view>({text::former,       text::schema,      text::now,
                                     text::changed,      text::gone,        text::bury,
                                     text::serve,        text::place,       text::acquire,
                                     text::find,         text::look,        text::renew,
                                     text::release,      text::withdraw,    text::downgrade,
                                     text::annotate,     text::evict,       text::request_release,
                                     text::inspect_part, text::list_part,   text::sweep,
                                     text::abandon,      text::track,       text::poll,
                                     text::settle,       text::acquire_all, text::release_all,
                                     text::layout,       text::rights});

std::string fingerprint() {
  std::vector<std::string_view> texts{files.begin(), files.end()};
  texts.push_back(text::trust);
  texts.push_back(text::owners);
  return fingerprint_of(texts);
}

/// "schema"."locks_acquire"(text, …)
std::string signature_of(const routine& each, const naming& names) {
  return names.quoted(each.name).append("(").append(each.parameters) + ')';
}

/// The signatures of the routines with an access from `from` to `upto`.
std::string functions(const naming& names, access from, access upto) {
  std::string all;
  for (const routine& each : routines) {
    if (each.may_execute < from || each.may_execute > upto) continue;
    all.append(all.empty() ? "" : ",\n  ").append(signature_of(each, names));
  }
  return all;
}

/// In lines, in the catalogue's format: names without quotes.
std::string bare_tables(const naming& names) {
  std::string all;
  for (const auto part : tables) all.append(names.bare(part)) += '\n';
  return all;
}
std::string literal(std::string_view text) {
  std::string all = "'";
  for (const char c : text) all.append(c == '\'' ? 2 : 1, c);
  return all + '\'';
}

std::string owners_of(const naming& names, std::string_view tables, std::string_view routines) {
  std::string all{text::owners};
  replace_all(all, "{SCHEMA}", literal(names.schema()));
  replace_all(all, "{TABLES}", literal(tables));
  replace_all(all, "{ROUTINES}", literal(routines));
  return all;
}

/// Fills in the refusal of what belongs to others.
void spell_out_trust(std::string& all, std::string_view owners, std::string_view owner) {
  replace_all(all, "{TRUST}", text::trust);
  replace_all(all, "{OWNERS}", owners);
  replace_all(all, "{OWNER}", literal(owner));
  replace_all(all, "{STRANGER}", stranger_state);
  replace_all(all, "{ADVICE}", stranger_advice);
}

/// The right to execute functions, and to find them.
std::string grant_execute(const naming& names, std::string_view role, std::string_view functions) {
  const bool everybody = role == "public";
  const std::string grantee = everybody ? "PUBLIC" : '"' + std::string{role} + '"';
  const std::string schema = '"' + names.schema() + '"';
  std::string all = "DO $$ BEGIN\n  IF NOT has_schema_privilege('" + std::string{role} + "', '" +
                    names.schema() + "', 'USAGE') THEN GRANT USAGE ON SCHEMA " + schema + " TO " + grantee +
                    "; END IF;\nEND $$;\n";
  return all.append("GRANT EXECUTE ON FUNCTION\n  ")
      .append(functions)
      .append("\nTO ")
      .append(grantee)
      .append(";\n");
}

/// A file for psql: one transaction, which excludes others of its kind.
std::string file_of(std::string_view title, const naming& names, std::string_view statements) {
  std::string all{title};
  return all
      .append(
          "BEGIN;\nSET LOCAL client_min_messages = warning;\nSET LOCAL search_path = pg_catalog, pg_temp;\n"
          "SET LOCAL quote_all_identifiers = off;\n"
          "DO $$ BEGIN PERFORM pg_advisory_xact_lock(")
      .append(making_key(names))
      .append("); END $$;\n\n")
      .append(statements)
      .append("\nCOMMIT;\n");
}

/// Rows of a VALUES list: a routine's signature, and who may execute it.
std::string signatures(const naming& names) {
  constexpr auto access_names = std::to_array<std::string_view>({"part", "look", "lock", "all"});
  std::string rows;
  for (const routine& each : routines) {
    rows.append(rows.empty() ? "      (" : ",\n      (")
        .append(literal(signature_of(each, names)))
        .append(", ")
        .append(literal(access_names.at(static_cast<std::size_t>(each.may_execute)))) += ')';
  }
  return rows;
}

}  // namespace

bool is_ours(std::string_view table, std::string_view columns) {
  if (table == "locks") {
    return columns == "name text, token bigint, granted bigint, oldest bigint, capacity bigint";
  }
  if (table == "claims") {
    return columns ==
           "name text, token bigint, owner bytea, client bytea, weight bigint, ttl bigint, expires bigint, "
           "since bigint, metadata text, login oid";
  }
  return columns == "swept bigint, id smallint, walked text, watched bigint, watched_names bigint[]";
}

std::string bare_routines(const naming& names, access from, access upto) {
  std::string all;
  for (const routine& each : routines) {
    if (each.may_execute < from || each.may_execute > upto) continue;
    all.append(names.bare(each.name)).append("(").append(each.parameters).append(")\n");
  }
  return all;
}

std::string owners(const naming& names) {
  return owners_of(names, bare_tables(names), bare_routines(names, access::part, access::all));
}

std::string schema(const naming& names, std::string_view owner) {
  std::string all;
  for (const std::string_view file : files) all.append(all.empty() ? "" : "\n").append(names.fill(file));
  spell_out_trust(all, owners(names), owner);
  replace_all(all, "{SIGNATURES}", signatures(names));
  for (const auto& each : routines) {
    if (each.name == "acquire") replace_all(all, "{ACQUIRE}", literal(signature_of(each, names)));
    if (each.name == "inspect_part") replace_all(all, "{INSPECT_PART}", literal(signature_of(each, names)));
  }
  replace_all(all, "{CHANGED}", "holdfast_changed_" + std::to_string(number_of(names)));
  replace_all(all, "{BUCKET}",
              "(pg_catalog.hashtext(in_name) OPERATOR(pg_catalog.&) " + std::to_string(name_buckets - 1) +
                  ") OPERATOR(pg_catalog.+) 1");
  replace_all(all, "{BUCKETS}", std::to_string(name_buckets));
  replace_all(all, "{FOREVER}", std::to_string(forever.count()));
  replace_all(all, "{OWN}", "decode(current_setting('holdfast.session', true), 'hex')");
  replace_all(all, "{NEWEST}", std::to_string(revision_number));
  replace_all(all, "{LAYOUT}", std::to_string(layout_number));
  replace_all(all, "{REVISION}", std::to_string(revision_number) + ' ' + fingerprint());
  return all;
}

std::string grants(const naming& names, std::string_view role, access to) {
  return grant_execute(names, role, functions(names, access::look, to));
}

std::string fences(const naming& names, std::string_view owner) {
  std::string all = names.fill(text::fences);
  spell_out_trust(all, owners_of(names, names.bare("fences"), names.bare("fence") + "(text, bigint)"), owner);
  replace_all(all, "{FENCED}", fenced_state);
  return all;
}

std::string fence_grants(const naming& names, std::string_view role) {
  return grant_execute(names, role, names.quoted("fence") + "(text, bigint)");
}

std::string fence_script(const naming& names, const std::vector<std::string>& callers,
                         std::string_view owner) {
  const naming placed = names.schema().empty() ? names.in("public") : names;
  std::string statements = fences(placed, owner);
  for (const std::string& each : callers) statements.append("\n").append(fence_grants(placed, each));
  return file_of("-- Where resources in the schema " + placed.schema() + " check fencing tokens.\n", placed,
                 statements);
}

bool is_plain_role(std::string_view name) {
  return !name.empty() && name.find_first_of("\"'$\\") == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

std::string script(const naming& names, const std::vector<std::string>& lockers,
                   const std::vector<std::string>& lookers, std::string_view owner) {
  const naming placed = names.schema().empty() ? names.in("public") : names;
  std::string statements = schema(placed, owner);
  for (const std::string& each : lockers) statements.append("\n").append(grants(placed, each, access::lock));
  for (const std::string& each : lookers) statements.append("\n").append(grants(placed, each, access::look));
  return file_of("-- Where Holdfast keeps the locks of " + placed.plain() + ": tables and routines.\n",
                 placed, statements);
}

std::string statement_of(const sql::call& call, const naming& names) {
  std::string text = "SELECT * FROM " + names.quoted(call.routine) + '(';
  for (std::size_t i = 1; i <= call.in.size(); ++i) {
    text.append(i == 1 ? "$" : ", $").append(std::to_string(i));
  }
  return text + ')';
}

sql::call poll_of(const poll_question& question) {
  std::vector<parameter> names;
  std::vector<parameter> tokens;
  for (const auto& [name, token] : question.places) {
    names.push_back(parameter::of_text(name));
    tokens.push_back(parameter::of(token));
  }
  return {"poll",
          {parameter::of_bytes(question.client.bytes()), parameter::of_list(std::move(names)),
           parameter::of_list(std::move(tokens)), parameter::of(question.is_held)}};
}

std::string settling_of(const naming& names) { return statement_of({"settle", {}}, names); }

std::string channel_of(const owner_id& client) { return "holdfast_" + client.hex(); }

std::string making_key(const naming& names) {
  constexpr std::int32_t purpose = 0x4D616B65;  // "Make"
  return std::to_string(purpose) + ", " + std::to_string(static_cast<std::int32_t>(number_of(names)));
}

}  // namespace holdfast::sql::postgresql
