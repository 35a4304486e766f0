// SPDX-License-Identifier: Apache-2.0
#include "runtime/claim_reports.hpp"

#include <utility>

namespace holdfast::runtime {

void claim_reports::update(const tickets::acquisition& claim, events::journal& to) noexcept {
  if (claim.has_waited() && !std::exchange(is_queued_, true)) {
    to.count_alone(events::counter::queued);
    to.tell(event_kind::queued, [&](event& e) {
      events::describe(claim.claim(), e);
      e.is_first = claim.came_first();
    });
  }
  const failure* const error = claim.last_error();
  const std::error_code now = error != nullptr ? error->code : std::error_code{};
  const bool is_same = std::exchange(trouble_, now) == now && was_paused_ == claim.is_paused();
  was_paused_ = claim.is_paused();
  if (error == nullptr || is_same) return;
  to.count_alone(events::counter::troubles);
  to.tell(event_kind::trouble, [&](event& e) {
    events::describe(claim.claim(), e);
    e.code = error->code;
    e.text = error->message;
  });
}

}  // namespace holdfast::runtime
