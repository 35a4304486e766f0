#include "sim/sql_mutants.hpp"

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
      return text_mutation{changes{{"room", "sum(CASE WHEN h.expires > :now THEN h.weight END)",
                                    "sum(CASE WHEN h.expires > :now OR h.weight = 1 THEN h.weight END)"},
                                   {"next", "h.token <= l.granted AND h.expires > :now",
                                    "h.token <= l.granted AND (h.expires > :now OR h.weight = 1)"}}};
    default: return {};
  }
}

}  // namespace holdfast::sim
