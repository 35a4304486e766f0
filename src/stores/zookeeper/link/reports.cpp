// What the link tells the journal of its client.

#include <utility>

#include "stores/zookeeper/link/link.hpp"

namespace holdfast::zookeeper {

/// The C client connects again by itself, and then tells a second connection. Under the core lock.
void link::report_connected() noexcept {
  reported_ = true;
  loop_.journal().count(events::counter::connects);
  loop_.journal().tell(event_kind::connected, [this](event& e) { e.text = settings_.place(); });
}

void link::report_disconnected(const char* reason) noexcept {
  if (!std::exchange(reported_, false)) return;
  loop_.journal().count(events::counter::disconnects);
  loop_.journal().tell(event_kind::disconnected, [&](event& e) {
    e.code = errc::unavailable;
    e.text = settings_.place() + ": " + reason;
  });
}

void link::report_no_connection(const failure& reason) noexcept {
  loop_.journal().count(events::counter::connect_failures);
  loop_.journal().tell(event_kind::connect_failed, [&](event& e) {
    e.code = reason.code;
    e.text = reason.message;
  });
}

}  // namespace holdfast::zookeeper
