#include "stores/mariadb/link/link.hpp"

#include <utility>

#include "stores/mariadb/link/dial.hpp"

namespace holdfast::mariadb {

link::link(runtime::event_loop& on, settings s)
    : sql::link{on, s.link,
                [this, s](const owner_id& client, const std::optional<owner_id>& former, sql::provision make,
                          int stop) {
                  auto made = dial(s, client, former, role::calls, make, stop);
                  listener_.serve(client);
                  return made;
                }},
      listener_{std::move(s), [this](const owner_id& client, const notifications& received) {
                  deliver_notifications_of(client, received);
                }} {
  connection().start();
}

void link::send(tickets::request request, on_reply handler) {
  if (std::holds_alternative<tickets::acquire>(request)) listener_.begin();
  sql::link::send(std::move(request), std::move(handler));
}

void link::shut() {
  listener_.shut();
  sql::link::shut();
}

}  // namespace holdfast::mariadb
