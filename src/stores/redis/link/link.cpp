// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/link.hpp"

#include <utility>

#include "runtime/event_loop.hpp"

namespace holdfast::redis {

link::link(runtime::event_loop& loop, settings s)
    : node_link{loop, std::move(s)},
      server_{loop, reader(), settings_, settings_.server, settings_.place(), client_, *this} {
  if (settings_.has_sentinels()) {
    tracker_ = std::make_unique<primary_tracker>(
        loop, reader(), settings_, secure_.get(),
        [this](const connection_error& reason) { server_.reconnect(reason); });
  }
  server_.start();
  if (!tracker_) return;
  try {
    tracker_->start();
  } catch (...) {
    shut();
    throw;
  }
}

void link::shut() {
  if (tracker_) tracker_->stop();
  server_.stop();
  reader().stop();
}

void link::send(tickets::request request, on_reply handler) {
  if (!refuses(request, handler)) server_.push(command_of(std::move(request), std::move(handler)));
}

connection link::connect(node& to, int stop) {
  const wishes of = to.wishes();
  return tracker_ ? tracker_->connect_to_primary(of, stop)
                  : dial(settings_, settings_.server, secure_.get(),
                         io_deadline{settings_.connect_limit, stop}, of);
}

/// The server does not repeat the notifications of the time without a connection.
void link::on_connected(node& /*to*/, bool again) {
  if (tracker_) tracker_->on_primary_connected();
  if (again) {
    const runtime::core_lock now{loop()};
    report_gap();
  }
}

}  // namespace holdfast::redis
