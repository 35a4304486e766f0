#include "stores/mariadb/protocol/schema.hpp"

#include <algorithm>
#include <array>

#include "stores/mariadb/protocol/texts.hpp"

namespace holdfast::sql::mariadb {

namespace {

constexpr auto procedures = std::to_array<std::string_view>(
    {text::acquire, text::find, text::look, text::renew, text::release, text::withdraw, text::downgrade,
     text::annotate, text::evict, text::request_release, text::inspect_part, text::list_part, text::sweep,
     text::vacate, text::abandon, text::listen, text::layout});

/// The part of a procedure's name that its statement has in braces.
std::string_view part_of(std::string_view procedure) {
  constexpr std::string_view begin = "\nCREATE PROCEDURE IF NOT EXISTS {";
  const std::string_view name = procedure.substr(procedure.find(begin) + begin.size());
  return name.substr(0, name.find('}'));
}

/// A file of several statements, each under a line `-- label`.
void append_statements(std::vector<std::string>& to, std::string_view file) {
  bool begun = false;
  while (!file.empty()) {
    const std::string_view line = file.substr(0, file.find('\n'));
    file.remove_prefix(std::min(line.size() + 1, file.size()));
    const bool label = line.starts_with("-- ") && line.find(' ', 3) == std::string_view::npos;
    if (label) {
      to.emplace_back();
      begun = true;
    } else if (begun) {
      to.back().append(line).append("\n");
    }
  }
}

/// Replaces `{FOREVER}`, and `{GONE c}`: the claim `c` ends with a session that is over. Such a session holds
/// the lock of its client's calls, which the server frees at the end of the session. (Not a stored function:
/// on a server with a binary log few users may make one.)
void spell_out(std::string& statement) {
  constexpr std::string_view mark = "{GONE ";
  const auto replace = [&](std::size_t at, std::size_t size, const std::string& with) {
    statement.replace(at, size, with);
  };
  for (auto at = statement.find(mark); at != std::string::npos; at = statement.find(mark)) {
    const std::size_t end = statement.find('}', at);
    const std::string claim = statement.substr(at + mark.size(), end - at - mark.size());
    std::string condition = "(" + claim;
    condition.append(".ttl >= {FOREVER} AND IS_FREE_LOCK(CONCAT('holdfast-calls:', LOWER(HEX(")
        .append(claim)
        .append(".client)))) = 1)");
    replace(at, end + 1 - at, condition);
  }
  constexpr std::string_view number = "{FOREVER}";
  for (auto at = statement.find(number); at != std::string::npos; at = statement.find(number)) {
    replace(at, number.size(), std::to_string(forever.count()));
  }
}

}  // namespace

std::vector<std::string> schema_of(const naming& names, existing procedures_there) {
  std::vector<std::string> all;
  append_statements(all, text::tables);
  for (const std::string_view each : procedures) {
    std::string& statement = all.emplace_back(each);
    const std::string plain{procedure_comment};
    const std::string mark = "COMMENT '" + plain + std::to_string(layout) + '\'';
    statement.replace(statement.find(mark), mark.size(), "COMMENT '" + current_comment() + '\'');
    constexpr std::string_view kept = "CREATE PROCEDURE IF NOT EXISTS";
    // MySQL, which cannot replace a procedure, reads this as a comment.
    constexpr std::string_view replaced = "CREATE /*M! OR REPLACE */ PROCEDURE";
    if (procedures_there == existing::replaced)
      statement.replace(statement.find(kept), kept.size(), replaced);
  }
  for (std::string& statement : all) {
    statement = names.fill(statement);
    spell_out(statement);
  }
  return all;
}

std::string current_comment() {
  constexpr std::uint64_t offset = 14'695'981'039'346'656'037U;  // FNV-1a
  constexpr std::uint64_t prime = 1'099'511'628'211U;
  std::uint64_t hash = offset;
  for (const std::string_view each : procedures) {
    for (const char c : each) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[hash >> static_cast<unsigned>(shift) & 15U];
  }
  return std::string{procedure_comment} + std::to_string(layout) + ' ' + digits;
}

std::string script(const naming& names) {
  constexpr std::string_view end = "$$\n";  // does not occur in the statements, which contain semicolons
  std::string all = "DELIMITER $$\n";
  for (const auto& statements : {session_settings(), schema_of(names, existing::replaced)}) {
    for (const std::string& statement : statements) {
      all.append("\n").append(statement, 0, statement.find_last_not_of('\n') + 1).append("\n").append(end);
    }
  }
  return all += "\nDELIMITER ;\n";
}

std::vector<std::string> session_settings() {
  std::vector<std::string> all;
  append_statements(all, text::session);
  return all;
}

std::string comment_of(std::string_view part) {
  return "Holdfast " + std::string{part} + ' ' + std::to_string(layout);
}

const std::vector<std::string_view>& table_parts() {
  static const std::vector<std::string_view> parts{"locks", "claims", "words", "sweeps"};
  return parts;
}

const std::vector<std::string_view>& procedure_parts() {
  static const std::vector<std::string_view> parts = [] {
    std::vector<std::string_view> all;
    all.reserve(procedures.size());
    for (const std::string_view each : procedures) all.push_back(part_of(each));
    return all;
  }();
  return parts;
}

std::string procedure_in(const std::string& statement) {
  const std::size_t begin = statement.find('`');
  return statement.substr(begin, statement.find('(', begin) - begin);
}

std::string text_of(const sql::call& call, const naming& names) {
  std::string text = "CALL " + names.quoted(call.routine) + '(';
  for (std::size_t i = 0; i < call.in.size(); ++i) text += i == 0 ? "?" : ",?";
  return text + ')';
}

std::string lock_of(const owner_id& client, bool listens) {
  return (listens ? "holdfast:" : "holdfast-calls:") + client.hex();
}

bool is_writable(std::string_view read_only) { return read_only == "0" || read_only == "OFF"; }

std::string seen_notification(const owner_id& owner, std::int64_t token) {
  std::string entry{owner.bytes()};
  constexpr int highest = 56;
  for (int shift = highest; shift >= 0; shift -= 8) {
    entry += static_cast<char>(static_cast<std::uint64_t>(token) >> static_cast<unsigned>(shift));
  }
  return entry;
}

}  // namespace holdfast::sql::mariadb
