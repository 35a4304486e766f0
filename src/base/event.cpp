// SPDX-License-Identifier: Apache-2.0
#include "holdfast/event.hpp"

namespace holdfast {

std::string_view to_string(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::connected: return "connected";
    case event_kind::connect_failed: return "connect_failed";
    case event_kind::disconnected: return "disconnected";
    case event_kind::queued: return "queued";
    case event_kind::granted: return "granted";
    case event_kind::refused: return "refused";
    case event_kind::failed: return "failed";
    case event_kind::withdrawn: return "withdrawn";
    case event_kind::trouble: return "trouble";
    case event_kind::released: return "released";
    case event_kind::renewal_late: return "renewal_late";
    case event_kind::lost: return "lost";
  }
  return "unknown";
}

}  // namespace holdfast
