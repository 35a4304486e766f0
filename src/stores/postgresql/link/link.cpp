#include "stores/postgresql/link/link.hpp"

#include "stores/postgresql/link/dial.hpp"

namespace holdfast::postgresql {

link::link(runtime::event_loop& on, const settings& s)
    : sql::link{on, s.link,
                [s](const owner_id& client, const std::optional<owner_id>& former, sql::provision make,
                    int stop) { return dial(s, client, former, make, stop); }} {
  connection().start();
}

}  // namespace holdfast::postgresql
