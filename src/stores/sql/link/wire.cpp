#include "stores/sql/link/wire.hpp"

#include "holdfast/error.hpp"

namespace holdfast::sql {

std::optional<runtime::connection_error> wire::retirement() const {
  if (auto end = connection_->ended()) return end;
  if (!connection_->is_bare() || !claims_) return std::nullopt;
  return runtime::connection_error{{errc::unavailable, "the store has no tables yet"}, true, true};
}

void wire::put(pending_call& c) {
  if (c.request) c.call = call_of(*c.request, connection_->client(), session_);
  c.sent_at = boot_clock::now();
  connection_->send(c.call);
}

}  // namespace holdfast::sql
