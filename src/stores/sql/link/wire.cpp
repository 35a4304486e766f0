#include "stores/sql/link/wire.hpp"

#include "holdfast/error.hpp"

namespace holdfast::sql {

std::optional<runtime::connection_error> wire::retirement() const {
  if (auto end = connection_->ended()) return end;
  if (!connection_->is_bare() || !claims_) return std::nullopt;
  return runtime::connection_error{{errc::unavailable, "the store has no tables yet"}, true, true};
}

void wire::put(pending_call& c) {
  if (c.request) {
    const tickets::request& request = *c.request;
    const auto page_size = connection_->page_size();
    c.call = request.kind == tickets::task::list && page_size > 0
                 ? page_call(request.idle, c.listed.empty() ? "" : text_at(c.listed.back(), 0), page_size)
                 : call_of(request, connection_->client(), session_);
  }
  c.sent_at = boot_clock::now();
  connection_->send(c.call);
}

}  // namespace holdfast::sql
