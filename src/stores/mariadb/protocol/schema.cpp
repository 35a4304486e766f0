// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/protocol/schema.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "stores/mariadb/protocol/texts.hpp"

namespace holdfast::sql::mariadb {

namespace {

constexpr auto procedures = std::to_array<std::string_view>(
    {text::acquire, text::find, text::look, text::renew, text::release, text::withdraw, text::downgrade,
     text::annotate, text::evict, text::request_release, text::inspect_part, text::list_part, text::sweep,
     text::vacate, text::abandon, text::listen, text::acquire_all, text::release_all, text::layout});

/// The part of a procedure's name that its statement has in braces.
std::string_view part_of(std::string_view procedure) {
  constexpr std::string_view begin = "\nCREATE PROCEDURE IF NOT EXISTS {";
  const std::string_view name = procedure.substr(procedure.find(begin) + begin.size());
  return name.substr(0, name.find('}'));
}

/// The statements of a file with labels.
std::vector<std::string> texts_of(std::string_view file) {
  std::vector<std::string> all;
  for (statement& each : statements_of(file)) all.push_back(std::move(each.text));
  return all;
}

/// Replaces `{FOREVER}`, and `{GONE c}`: the claim `c` ends with a session that is over. Such a session holds
/// the lock of its client's calls, which the server frees at the end of the session. (Not a stored function:
/// on a server with a binary log few users may make one.)
void spell_out(std::string& statement) {
  constexpr std::string_view mark = "{GONE ";
  for (auto at = statement.find(mark); at != std::string::npos; at = statement.find(mark)) {
    const std::size_t end = statement.find('}', at);
    const std::string claim = statement.substr(at + mark.size(), end - at - mark.size());
    std::string condition = "(" + claim;
    condition.append(".ttl >= {FOREVER} AND IS_FREE_LOCK(CONCAT('holdfast-calls:', LOWER(HEX(")
        .append(claim)
        .append(".client)))) = 1)");
    statement.replace(at, end + 1 - at, condition);
  }
  replace_all(statement, "{FOREVER}", std::to_string(forever.count()));
}

/// Has a statement replace an existing procedure. MySQL, which cannot, reads the change as a comment.
void make_replacing(std::string& statement) {
  constexpr std::string_view kept = "CREATE PROCEDURE IF NOT EXISTS";
  statement.replace(statement.find(kept), kept.size(), "CREATE /*M! OR REPLACE */ PROCEDURE");
}

/// For the server's command line client.
std::string script_of(std::initializer_list<std::vector<std::string>> parts) {
  constexpr std::string_view end = "$$\n";  // does not occur in the statements, which contain semicolons
  std::string all = "DELIMITER $$\n";
  for (const auto& statements : parts) {
    for (const std::string& statement : statements) {
      all.append("\n").append(statement, 0, statement.find_last_not_of('\n') + 1).append("\n").append(end);
    }
  }
  return all += "\nDELIMITER ;\n";
}

std::string fence_comment() {
  return "Holdfast fence 1 " + fingerprint_of(std::to_array<std::string_view>({text::fence}));
}

}  // namespace

std::vector<std::string> schema_of(const naming& names, existing procedures_there) {
  std::vector<std::string> all = texts_of(text::tables);
  for (const std::string_view each : procedures) {
    std::string& statement = all.emplace_back(each);
    const std::string plain{procedure_comment};
    const std::string mark = "COMMENT '" + plain + std::to_string(layout) + '\'';
    statement.replace(statement.find(mark), mark.size(), "COMMENT '" + current_comment() + '\'');
    if (procedures_there == existing::replaced) make_replacing(statement);
  }
  for (std::string& statement : all) {
    statement = names.fill(statement);
    spell_out(statement);
  }
  return all;
}

std::string current_comment() {
  return std::string{procedure_comment} + std::to_string(layout) + ' ' + fingerprint_of(procedures) + ' ' +
         std::to_string(revision);
}

std::string script(const naming& names) {
  std::string guard{text::guard};
  replace_all(guard, "{SCHEMA}", names.schema());
  replace_all(guard, "{LAYOUT}", names.bare("layout"));
  return script_of({session_settings(), texts_of(guard), schema_of(names, existing::replaced)});
}

std::vector<std::string> fences_of(const naming& names) {
  std::vector<std::string> all = texts_of(text::fences);
  std::string& procedure = all.emplace_back(text::fence);
  make_replacing(procedure);
  replace_all(procedure, "'Holdfast fence 1'", '\'' + fence_comment() + '\'');
  for (std::string& statement : all) {
    statement = names.fill(statement);
    replace_all(statement, "{FENCED}", std::to_string(fenced_error));
    replace_all(statement, "{INVALID}", std::to_string(no_fence_error));
  }
  return all;
}

std::vector<std::string> fence_comments() { return {fence_comment(), "Holdfast fences 1"}; }

std::string fence_script(const naming& names) { return script_of({session_settings(), fences_of(names)}); }

std::vector<std::string> session_settings() { return texts_of(text::session); }

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

namespace {

void append_number(std::string& to, std::uint64_t n, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) to += static_cast<char>(n >> shift);
}

/// A value as a literal, which nothing in it can end.
std::string literal_of(const parameter& p) {
  if (p.type == parameter::kind::number || p.type == parameter::kind::flag) return std::to_string(p.number);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string all = "x'";
  for (const char c : p.type == parameter::kind::list ? packed(p.items) : p.text) {
    const auto byte = static_cast<unsigned char>(c);
    all.append({digits[byte >> 4U], digits[byte & 0xFU]});
  }
  return all += '\'';
}

}  // namespace

std::string packed(const std::vector<parameter>& items) {
  constexpr int length_size = 4;
  constexpr int number_size = 8;
  std::string all;
  for (const parameter& each : items) {
    switch (each.type) {
      case parameter::kind::number:
      case parameter::kind::flag:
        append_number(all, static_cast<std::uint64_t>(each.number), number_size);
        break;
      case parameter::kind::text: append_number(all, each.text.size(), length_size); [[fallthrough]];
      case parameter::kind::bytes:
      case parameter::kind::list: all += each.text; break;
    }
  }
  return all;
}

std::string text_with_values(const sql::call& call, const naming& names) {
  static const std::string settings = texts_of(text::call_settings).front();
  std::string text{settings};
  text.append("CALL ").append(names.quoted(call.routine)) += '(';
  for (std::size_t i = 0; i < call.in.size(); ++i)
    text.append(i == 0 ? "" : ",").append(literal_of(call.in[i]));
  return text + ')';
}

sql::call poll_of(const poll_question& question) {
  std::string seen;
  for (const row& each : question.seen) {
    const auto owner = owner_id::from_bytes(text_at(each, 0));
    if (owner) seen += seen_notification(*owner, number_at(each, 1));
  }
  return {"listen",
          {parameter::of_bytes(question.client.bytes()), parameter::of_bytes(seen),
           parameter::of(std::int64_t{0})}};
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
