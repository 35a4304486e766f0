#include "stores/redis/link/link.hpp"

#include <optional>
#include <utility>

#include "runtime/event_loop.hpp"
#include "stores/redis/protocol/failover_guard.hpp"

namespace holdfast::redis {

link::link(runtime::event_loop& loop, settings s)
    : notifying_link{loop},
      settings_{std::move(s)},
      server_{loop, reader(), settings_, settings_.server, settings_.place(), client_, *this} {
  if (settings_.tls.on) secure_ = std::make_unique<tls_context>(settings_);
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
  if (auto refusal = outlasts_guard(request, settings_.speech)) {
    loop().at(loop().now(), [handler = std::move(handler), reason = std::move(*refusal)] {
      handler(store::request_error{reason});
    });
    return;
  }
  const bool urgent = !tickets::is_release(request);
  auto c = std::make_unique<pending_command>();
  c->fsm.emplace(std::move(request), settings_.speech, client_);
  c->handler = std::move(handler);
  server_.push(std::move(c), urgent);
}

connection link::connect(node& to, int stop) {
  const wishes of = to.wishes();
  return tracker_ ? tracker_->connect(of, stop)
                  : dial(settings_, settings_.server, secure_.get(),
                         io_deadline{settings_.connect_limit, stop}, of);
}

/// The server does not repeat the notifications of the time without a connection.
void link::on_connected(node& /*to*/, bool again) {
  if (tracker_) tracker_->on_connected();
  if (again) {
    const runtime::core_lock now{loop()};
    report_gap();
  }
}

}  // namespace holdfast::redis
