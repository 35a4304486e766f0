#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/request.hpp"

namespace holdfast::sql {

/// One statement of a task, ready to be prepared but for its `:parameters`.
///
/// Statements run in order, in one transaction. The columns of a query's row are parameters, by name, of the
/// statements after it. A task ends at the first statement that finds nothing (no row returned, none
/// changed), unless that one is optional. The rows of `tell` (client, owner, token) are notifications for
/// clients: a grant, or, with its token negative, a revocation.
struct statement {
  std::string label;
  bool optional = false;
  std::string text;
};

/// The names of the tables.
struct tables {
  std::string locks;
  std::string claims;
  std::string sweeps;

  /// locks as given, claims and sweeps named after it.
  [[nodiscard]] static tables named(const std::string& locks);
};

/// Takes an .sql file apart: a line of `-- label`, or `-- label?` for an optional one, begins a statement.
[[nodiscard]] std::vector<statement> statements_of(std::string_view file, const tables& names);

/// All statements of a request of this kind. What it holds does not matter.
[[nodiscard]] std::vector<statement> statements_of(const tickets::request& kind, const tables& names);
/// Those of every kind, by the index of the variant.
[[nodiscard]] std::vector<std::vector<statement>> statements_of_all_kinds(const tables& names);

/// Whether a query's rows belong to the reply. Others are for later statements or the link alone.
[[nodiscard]] bool is_answer(std::string_view label);

}  // namespace holdfast::sql
