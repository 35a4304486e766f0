// SPDX-License-Identifier: Apache-2.0
#include "simulation/outcome.hpp"

namespace holdfast::sim {

outcome::outcome(const surroundings& around)
    : violation{around.in.violation},
      hash{around.in.log.hash()},
      operations{around.operations},
      requests{around.account.requests()},
      refusals{around.account.refusals()},
      forgotten{around.account.forgotten()},
      grants{around.sees.grants()},
      excused_overlaps{around.sees.excused()},
      stale_refused{around.sees.stale_refused()},
      events{around.in.events},
      foreign_holds{around.sees.outsiders()},
      foreign_followed{around.account.outsiders_followed()},
      left_free{around.account.moments_left_free()} {}

}  // namespace holdfast::sim
