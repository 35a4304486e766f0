// SPDX-License-Identifier: Apache-2.0
#include "lease/refusal.hpp"

#include <algorithm>

#include "holdfast/error.hpp"

namespace holdfast::lease_core {

const char* text_of(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::ended_at_store: return "the store no longer has it";
    case loss_reason::not_renewed: return "no renewal was confirmed before the deadline";
    case loss_reason::session_ended: return "the client's session was not confirmed before the deadline";
    case loss_reason::client_closed: return "the client was closed";
  }
  return "";
}

std::string attempt_on(std::string_view verb, std::span<const lease_record_ptr> leases) {
  const lease_record& first = *leases.front();
  return std::string{verb} + " '" + first.hold.name + "'" +
         (leases.size() > 1 ? " and the other names" : "") +
         (first.client ? " on " + first.client->store : "");
}

std::string reason_of(std::error_code code, std::span<const lease_record_ptr> leases) {
  if (code == errc::unknown_outcome) return "the store did not confirm it in time";
  if (code == errc::not_owner) return "it was released already";
  if (code != errc::lost) return text_of(loss_reason::client_closed);
  const auto lost = std::find_if(leases.begin(), leases.end(), [](const lease_record_ptr& each) {
    return each->state() == lease_record::phase::lost;
  });
  if (lost == leases.end()) {
    // What the release itself finds gone has ended at the store.
    const bool is_released = leases.front()->state() == lease_record::phase::releasing;
    return text_of(is_released ? loss_reason::ended_at_store : loss_reason::client_closed);
  }
  return (leases.size() > 1 ? "'" + (*lost)->hold.name + "': " : "") + text_of((*lost)->loss);
}

}  // namespace holdfast::lease_core
