#include "stores/mariadb/protocol/own_grants.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace holdfast::sql::mariadb {

namespace {

constexpr auto writing =
    std::to_array<std::string_view>({"ALL PRIVILEGES", "INSERT", "UPDATE", "DELETE", "DROP", "ALTER",
                                     "TRIGGER", "CREATE ROUTINE", "ALTER ROUTINE", "SUPER"});

/// Where a word stands outside of quotes and parentheses; npos: nowhere.
std::size_t find_plain(std::string_view text, std::string_view word) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_quoted && depth == 0 && text.substr(at).starts_with(word)) return at;
    if (text[at] == '`') is_quoted = !is_quoted;
    if (!is_quoted && text[at] == '(') ++depth;
    if (!is_quoted && text[at] == ')') --depth;
  }
  return std::string_view::npos;
}

/// A quoted name, which is taken off, as its bytes.
std::string take_name(std::string_view& from) {
  std::string name;
  if (!from.starts_with('`')) return name;
  from.remove_prefix(1);
  while (!from.empty()) {
    const bool is_end = from.front() == '`';
    if (is_end && !from.starts_with("``")) break;
    name += from.front();
    from.remove_prefix(is_end ? 2 : 1);
  }
  from.remove_prefix(std::min<std::size_t>(1, from.size()));
  return name;
}

/// As LIKE compares. In time that grows with the product of the lengths.
bool fits(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t of = 0;
  std::size_t resume_at = 0;
  std::size_t resume_of = std::string_view::npos;  // behind the last %
  while (at < text.size()) {
    const bool is_escaped = of + 1 < pattern.size() && pattern[of] == '\\';
    const std::size_t next = of + (is_escaped ? 1 : 0);
    if (of < pattern.size() && pattern[of] == '%') {
      resume_of = ++of;
      resume_at = at;
    } else if (next < pattern.size() &&
               (pattern[next] == text[at] || (!is_escaped && pattern[next] == '_'))) {
      of = next + 1;
      ++at;
    } else if (resume_of != std::string_view::npos) {
      of = resume_of;
      at = ++resume_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('%', of) == std::string_view::npos;
}

/// Whether rights to an object are rights to the tables of a store, or to replace its procedures.
bool reaches_store(std::string_view object, const naming& names, bool is_maker) {
  if (object == "*.*") return true;
  if (is_maker || !object.starts_with('`')) return false;  // "PROCEDURE `locks`.`own_find`"
  const std::string database = take_name(object);
  if (object == ".*") return fits(names.schema(), database);
  if (database != names.schema() || !object.starts_with(".`")) return false;
  object.remove_prefix(1);
  const std::string table = take_name(object);
  return std::ranges::any_of(table_parts(), [&](std::string_view part) { return names.bare(part) == table; });
}

}  // namespace

std::optional<server_facts::grant> excess_in(std::string_view line, const naming& names, bool is_maker,
                                             std::string_view account) {
  constexpr std::string_view begin = "GRANT ";
  constexpr std::string_view on = " ON ";
  if (!line.starts_with(begin)) return std::nullopt;
  line.remove_prefix(begin.size());
  const std::size_t object_at = find_plain(line, on);
  if (object_at == std::string_view::npos) return std::nullopt;  // a role
  std::string_view rights = line.substr(0, object_at);
  line.remove_prefix(object_at + on.size());
  const std::string_view object = line.substr(0, find_plain(line, " TO "));
  if (!reaches_store(object, names, is_maker)) return std::nullopt;

  server_facts::grant excess{{}, std::string{object}, std::string{account}, false};
  while (!rights.empty()) {
    const std::string_view each = rights.substr(0, find_plain(rights, ", "));
    rights.remove_prefix(std::min(rights.size(), each.size() + 2));
    const std::string_view right = each.substr(0, each.find(" ("));
    if (std::ranges::find(writing, right) == writing.end()) continue;
    excess.rights.append(excess.rights.empty() ? "" : ", ").append(right);
    excess.of_columns = excess.of_columns || right.size() != each.size();
  }
  if (excess.rights.empty()) return std::nullopt;
  return excess;
}

}  // namespace holdfast::sql::mariadb
