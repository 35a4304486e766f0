#include "stores/redis/link/sentinel/primary_tracker.hpp"

#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::redis {

primary_tracker::primary_tracker(runtime::event_loop& loop, runtime::connection_reader& reader,
                                 const settings& of, const tls_context* secure, reconnect action)
    : settings_{of},
      secure_{secure},
      reconnect_{std::move(action)},
      search_{settings_, secure},
      subscription_{loop, reader, search_, settings_,
                    [this](const server_address& primary) { on_report(primary); }} {}

connection primary_tracker::connect(const wishes& of, int stop) {
  whereabouts_.begin_search();
  connection made =
      search_.run(false, stop, [&](const sentinel_search::answer& from, const io_deadline& limit) {
        const server_address& server = from.primary.value();
        whereabouts_.lead_to(server);
        return dial(settings_, server, secure_, limit, of);
      });
  whereabouts_.end_search();
  return made;
}

/// A report that came before the connection was in use has found nothing to reconnect.
void primary_tracker::on_connected() {
  if (const auto primary = whereabouts_.move()) {
    leave(*primary);
  } else if (whereabouts_.take_wrong_report()) {
    subscription_.leave_sentinel();
  }
}

void primary_tracker::on_report(const server_address& primary) {
  if (whereabouts_.report(primary)) leave(primary);
}

void primary_tracker::leave(const server_address& primary) {
  reconnect_(
      {{errc::unavailable, "a Sentinel says that the primary is " + primary.place() + " now"}, true, true});
}

std::string primary_tracker::place() const {
  const std::string server = whereabouts_.place();
  return server.empty() ? settings_.place() : settings_.place() + " at " + server;
}

}  // namespace holdfast::redis
