#include "run/hold.hpp"

namespace holdfast::cli {

hold hold_of(const lease_set& held) {
  hold h{{}, [&held] { return held.deadline(); }, held.lost(), held.remaining()};
  for (const lease& each : held.leases()) h.tokens.emplace_back(each.name(), each.token().value());
  return h;
}

hold hold_of(const term& held) {
  return {{{held.name(), held.token().value()}},
          [&held] { return held.deadline(); },
          held.lost(),
          held.remaining()};
}

}  // namespace holdfast::cli
