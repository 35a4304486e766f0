// SPDX-License-Identifier: Apache-2.0
#include "simulation/sql_mutants.hpp"

#include <stdexcept>

namespace holdfast::sim {

std::string text_mutation::operator()(const sql::statement& s) {
  std::string text = s.text;
  for (change& c : changes_) {
    if (c.label != s.label) continue;
    const auto at = text.find(c.from);
    if (at == std::string::npos || text.find(c.from, at + 1) != std::string::npos) {
      throw std::runtime_error{"a mutant does not fit its statement any more: " + s.label};
    }
    text.replace(at, c.from.size(), c.to);
    ++c.times;
  }
  return text;
}

void text_mutation::require_done() const {
  for (const change& c : changes_) {
    if (c.times == 0) throw std::runtime_error{"a mutant's statement is gone: " + std::string{c.label}};
  }
}

const char* addition_of(mutant which) {
  if (which != mutant::row_deleted_on_release) return "";
  return "CREATE TRIGGER tidies AFTER DELETE ON holdfast_locks_claims"
         " WHEN NOT EXISTS (SELECT 1 FROM holdfast_locks_claims WHERE name = OLD.name)"
         " BEGIN DELETE FROM holdfast_locks WHERE name = OLD.name; END";
}

text_mutation mutation_of(mutant which) {
  using changes = std::vector<text_mutation::change>;
  switch (which) {
    case mutant::owner_unchecked:
      // Whoever holds now is the one whose hold ends.
      return text_mutation{changes{{"drop", "token = :token AND owner = :owner",
                                    "token = (SELECT granted FROM holdfast_locks WHERE name = :name)"}}};
    case mutant::extension_resurrects: return text_mutation{changes{{"keep", " AND expires > :now", ""}}};
    case mutant::dead_waiter_served:
      return text_mutation{changes{{"next", "w.token > s.token AND w.expires > :now", "w.token > s.token"}}};
    case mutant::reader_leaked:
      // One that died is never taken off the sum.
      return text_mutation{changes{{"capacity", "sum(CASE WHEN h.expires > :now THEN h.weight END)",
                                    "sum(CASE WHEN h.expires > :now OR h.weight = 1 THEN h.weight END)"},
                                   {"next", "h.token <= l.granted AND h.expires > :now",
                                    "h.token <= l.granted AND (h.expires > :now OR h.weight = 1)"}}};
    case mutant::token_not_floored:
      return text_mutation{changes{{"capacity", "max(l.token + 1, :floor)", "l.token + 1"}}};
    case mutant::request_moves_end:
      return text_mutation{changes{{"ask", "SET metadata =", "SET expires = expires + 1000000, metadata ="}}};
    default: return {};
  }
}

}  // namespace holdfast::sim
