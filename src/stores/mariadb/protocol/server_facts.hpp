#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/mariadb/protocol/schema.hpp"
#include "stores/sql/protocol/server_answers.hpp"

namespace holdfast::sql::mariadb {

/// The statement that reads what a server says of itself, as lines "name=value".
[[nodiscard]] std::string_view conditions();

/// What a server has said of itself and of a store.
struct server_facts : server_answers {
  /// An answer that this user may be refused.
  template <class Value>
  using where_allowed = std::optional<Value>;

  /// A right to write the tables, or to replace them or the procedures.
  struct grant {
    std::string rights;   // "UPDATE, DROP"
    std::string object;   // for a statement: "`lo%`.*"
    std::string account;  // name@host, or a role
    bool of_columns = false;
  };

  std::string place;
  bool is_mariadb = true;
  std::chrono::microseconds clock_ahead{};  // of this host's
  std::chrono::microseconds round_trip{};

  std::string foreign;                  // why the store is not Holdfast's; empty: it is, or there is none
  std::string untrusted;                // a procedure of another user that would run with this user's rights
  std::vector<std::string> procedures;  // the parts of the names of those that this user sees
  bool current = false;                 // they are the same as this version makes
  std::int64_t layout = 0;
  std::string refusal;                        // of the procedure `layout`: why none of them works
  where_allowed<std::vector<grant>> writers;  // of other accounts, for this database or its tables
  std::vector<grant> excess;                  // of this user, or of others for all databases
  where_allowed<std::vector<std::pair<std::string, std::chrono::seconds>>> transactions;  // thread and age

  /// A switch, which CONCAT makes ON or 1 depending on the server.
  [[nodiscard]] bool is_on(std::string_view name) const;
};

/// What the URL says beside its place.
struct expectation {
  naming names;
  bool create = true;
  bool session = false;  // mode=session
};

/// Holds what a server has said to the conditions of docs/stores/mariadb.md.
[[nodiscard]] std::vector<finding> findings_of(const server_facts& facts, const expectation& of);

}  // namespace holdfast::sql::mariadb
