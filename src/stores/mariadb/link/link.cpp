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
      listener_{std::move(s),
                [this](const owner_id& client, const words& heard) { deliver_words(client, heard); }} {
  begin();
}

void link::send(tickets::request what, on_reply done) {
  if (what.what == tickets::task::acquire) listener_.begin();
  sql::link::send(std::move(what), std::move(done));
}

void link::shut() {
  listener_.shut();
  sql::link::shut();
}

}  // namespace holdfast::mariadb
