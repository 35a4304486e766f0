#include "protocol/sql/postgresql/schema.hpp"

#include <array>
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

}  // namespace

std::string schema(const naming& names) {
  // Those that others call come first, and last the word that all of them are there.
  constexpr auto files = std::to_array<std::string_view>(
      {text::schema,   text::now,       text::changed, text::gone,    text::bury,  text::serve,
       text::place,    text::acquire,   text::find,    text::look,    text::renew, text::release,
       text::withdraw, text::downgrade, text::evict,   text::inspect, text::list,  text::sweep,
       text::abandon,  text::track,     text::layout});
  std::string all;
  for (const std::string_view file : files) all.append(all.empty() ? "" : "\n").append(names.fill(file));
  replace(all, "{CHANGED}", "holdfast_changed_" + std::to_string(number_of(names)));
  replace(all, "{WATCH}", watch_key(names));
  replace(all, "{FOREVER}", std::to_string(forever.count()));
  replace(all, "{OWN}", "decode(current_setting('holdfast.session', true), 'hex')");
  replace(all, "{LAYOUT}", std::to_string(layout_number));
  return all;
}

std::string script(const naming& names) {
  std::string all = "-- Where Holdfast keeps the locks of " + names.plain() + ": tables and routines.\n";
  all.append("BEGIN;\nSET LOCAL client_min_messages = warning;\nDO $$ BEGIN PERFORM pg_advisory_xact_lock(")
      .append(making_key(names))
      .append("); END $$;\n\n");
  return all.append(schema(names)).append("\nCOMMIT;\n");
}

std::string_view columns_of(std::string_view table) {
  if (table == "locks") return "name text, token bigint, granted bigint, oldest bigint, capacity bigint";
  if (table == "claims") {
    return "name text, token bigint, owner bytea, client bytea, weight bigint, ttl bigint, expires bigint, "
           "since bigint, metadata text";
  }
  return "swept bigint";
}

std::string statement_of(const call& what, const naming& names) {
  std::string text = "SELECT * FROM " + names.quoted(what.routine) + '(';
  for (std::size_t i = 1; i <= what.in.size(); ++i) {
    text.append(i == 1 ? "$" : ", $").append(std::to_string(i));
  }
  return text + ')';
}

std::string channel_of(const owner_id& client) { return "holdfast_" + client.hex(); }

std::string watch_key(const naming& names) { return key_of(0x486F6C64, names); }   // "Hold"
std::string making_key(const naming& names) { return key_of(0x4D616B65, names); }  // "Make"

}  // namespace holdfast::sql::postgresql
