#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/sql/protocol/server_answers.hpp"

namespace holdfast::sql::postgresql {

/// Statements that read what `findings_of` judges; see the comments of their files.
[[nodiscard]] std::string_view conditions();
[[nodiscard]] std::string_view callable();
[[nodiscard]] std::string excess(const naming& names);
[[nodiscard]] std::string_view transactions();
/// The parameter $3 of `excess`.
[[nodiscard]] std::string granted_routines(const naming& names);

/// What a server has said of itself and of a store.
struct server_facts : server_answers {
  enum class line : std::uint8_t { direct, pooled, switched };
  struct grant {  // as excess.sql has them; of a kind ROLE: a member of `object`
    std::string role, right, kind, object;
  };
  struct transaction {
    std::string kind, name;  // as transactions.sql has them
    std::optional<std::chrono::seconds> age{};
  };

  std::string place;
  line way = line::direct;
  bool password_unused = false;  // one is given, and the server let the client in without asking for it
  std::chrono::microseconds clock_ahead{};  // of this host's
  std::chrono::microseconds round_trip{};

  std::string stranger;       // an object of an untrusted role, with its owner
  std::string foreign_table;  // of one of Holdfast's names
  std::size_t tables_there = 0;
  std::map<std::string, bool, std::less<>>
      routines_there;           // "locks_now()", and whether this user may call it
  bool may_ask_version = true;  // execute `layout` and `revision`
  std::int64_t layout = 0;
  revision routines;
  std::vector<grant> excess;
  std::vector<transaction> transactions;

  [[nodiscard]] bool is(std::string_view name) const;  // true
};

/// What the URL says beside its place.
struct expectation {
  naming names;
  bool pooled = false;  // through a pooler of sessions
  bool create = true;
  bool session = false;         // mode=session
  std::string server{};         // "db.example:5432"; of a Unix socket the port, or empty
  std::string socket_folder{};  // empty: TCP
};

/// Holds what a server has said to the conditions of docs/stores/postgresql.md.
[[nodiscard]] std::vector<finding> findings_of(const server_facts& facts, const expectation& of);

}  // namespace holdfast::sql::postgresql
