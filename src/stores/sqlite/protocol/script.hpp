// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "stores/sql/protocol/text.hpp"

namespace holdfast::sql {

/// What a routine of a database server does, see call.hpp, as statements for SQLite, ready to be prepared but
/// for their `:parameters`.
///
/// The statements run in order, in one transaction. The columns of a query's row are parameters, by name, of
/// the statements after it. A script ends at the first statement that finds nothing (no row returned, none
/// changed), unless that one is optional. The rows of `tell` (client, owner, token) are notifications for
/// clients: a grant, or, with its token negative, a revocation.
struct script {
  std::string_view routine;
  std::vector<std::string_view> parameters;  // of the call, in their order
  std::vector<statement> statements;
};

/// The scripts of all routines, and `open`, which precedes the first claim of a name. `renew` is for one hold
/// at a time.
[[nodiscard]] std::vector<script> scripts(const naming& names);

/// The statements of a file for these tables.
[[nodiscard]] std::vector<statement> statements_of(std::string_view file, const naming& names);

/// The statements that make the table of fences and its triggers, in their order, for one transaction.
[[nodiscard]] std::vector<statement> fences();
/// The same as a file for the command line client of SQLite.
[[nodiscard]] std::string fence_script();

/// Whether a query's rows are those of the routine. Others are for later statements or the link alone.
[[nodiscard]] bool is_answer(std::string_view label);

}  // namespace holdfast::sql
