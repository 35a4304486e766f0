#include "stores/redis/link/link.hpp"

#include <algorithm>
#include <cstddef>
#include <poll.h>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/event_loop.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t buffer_size = std::size_t{64} * 1024;
/// While more replies than this are due, new requests wait for the reader, and are sent together.
constexpr std::size_t batch_above = 16;

/// A hold that outlasts the guard could be forgotten in a failover, and be granted again while it is held.
failure too_long(duration ttl, std::chrono::milliseconds guard) {
  const auto seconds = [](duration length) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(length).count()) + "s";
  };
  return {errc::invalid_argument, "a ttl of " + seconds(ttl) + " is longer than the failover_guard of " +
                                      seconds(guard) + "; give the store's URL failover_guard=" +
                                      seconds(ttl) + " or more on all clients, or take a shorter ttl"};
}

}  // namespace

link::link(runtime::event_loop& loop, settings s)
    : multiplexed_link{loop, {s.place(), s.answer_limit, s.quiet_limit, batch_above}},
      settings_{std::move(s)},
      buffer_(buffer_size) {
  if (settings_.tls.on) secure_ = std::make_unique<tls_context>(settings_);
  if (settings_.has_sentinels()) {
    tracker_ = std::make_unique<primary_tracker>(
        loop, reader(), settings_, secure_.get(),
        [this](const connection_error& reason) { connection().reconnect(reason); });
  }
  connection().start();
  if (!tracker_) return;
  try {
    tracker_->start();
  } catch (...) {
    link::shut();
    throw;
  }
}

void link::shut() {
  if (tracker_) tracker_->stop();
  multiplexed_link::shut();
}

void link::send(tickets::request request, on_reply handler) {
  const auto guard = settings_.speech.guard;
  if (request.kind == tickets::task::acquire && guard.count() != 0 && request.ttl > guard) {
    loop().at(loop().now(), [handler = std::move(handler), reason = too_long(request.ttl, guard)] {
      handler(store::request_error{reason});
    });
    return;
  }
  const bool urgent = !tickets::is_release(request.kind);
  auto c = std::make_unique<pending_command>();
  c->fsm.emplace(std::move(request), settings_.speech, client_);
  c->handler = std::move(handler);
  connection().push(std::move(c), urgent);
}

void link::track(bool on) {
  auto c = std::make_unique<pending_command>();
  if (on) {
    append_tracking(c->command, settings_.speech.prefix);
  } else {
    append(c->command, {"CLIENT", "TRACKING", "OFF"});
  }
  connection().push(std::move(c), false);
}

std::unique_ptr<pending_command> link::ping() const {
  auto c = std::make_unique<pending_command>();
  c->is_ping = true;
  append(c->command, {"PING"});
  return c;
}

std::string link::place() const { return tracker_ ? tracker_->place() : std::string{}; }

// ---- connecting

std::unique_ptr<wire> link::connect(int stop) {
  try {
    redis::connection made =
        tracker_ ? tracker_->connect(client_, is_tracked(), former_, stop)
                 : redis::dial(settings_, secure_.get(), io_deadline{settings_.connect_limit, stop}, client_,
                               is_tracked(), former_);
    former_.clear();
    early_ = std::move(made.early);
    return std::make_unique<wire>(std::move(made), secure_ != nullptr, settings_.speech);
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"what answers there is no Redis server: "} + g.what()}, false};
  }
}

void link::on_connected() {
  const std::vector<value> early = std::exchange(early_, {});
  deliver_notifications(notifications_in(early));
  if (has_changes(early)) ring_watchers();
  if (tracker_) tracker_->on_connected();
  multiplexed_link::on_connected();
}

// ---- reading

void link::read(short ready) {
  if ((ready & POLLOUT) != 0) connection().lock()->write_out();
  read_all();
}

void link::read_all() {
  try {
    std::vector<value> messages;
    connection().wire().read(buffer_, messages);
    handle(std::move(messages));
  } catch (const parser::garbage& g) {
    throw connection_error{
        {errc::corrupt_store, std::string{"what the server sends is no RESP3: "} + g.what()}};
  }
}

void link::handle(std::vector<value> messages) {
  const received all = match(std::move(messages));
  const bool demoted = interpret_replies();
  deliver(notifications_in(all.pushes));
  if (has_changes(all.pushes)) ring_watchers();
  if (all.surplus) throw parser::garbage{"an answer without a request"};
  // After a failover the host's name or the Sentinels may lead to another server, but this connection does
  // not.
  if (demoted) {
    const std::string advice = tracker_ ? "" : "; the store's URL has to lead to the primary";
    throw connection_error{{errc::unavailable, "the server is a read-only replica (READONLY)" + advice}};
  }
}

/// Gives each reply to the first request in flight.
link::received link::match(std::vector<value> messages) {
  received all;
  auto line = connection().lock();
  line.heard();
  for (value& m : messages) {
    if (m.is(value::kind::push)) {
      all.pushes.push_back(std::move(m));
      continue;
    }
    pending_command* const first = line.first_in_flight();
    if (first == nullptr) {
      all.surplus = true;
      break;
    }
    first->replies.push_back(std::move(m));
    if (first->replies.size() >= first->replies_due) line.finish_first();
  }
  return all;
}

/// Sets the outcomes of completed requests, and queues requests again that need more commands.
/// \return whether a reply says that the server is a replica.
bool link::interpret_replies() {
  bool demoted = false;
  for (std::size_t i = 0; i < connection().completed().size();) {
    pending_command& c = *connection().completed()[i];
    const value& first = c.replies[0];
    const bool refused = first.is(value::kind::error);
    if (!refused) connection().on_success();
    if (c.is_ping) connection().lock()->hear_ping(first);
    if (c.fsm) {
      demoted = demoted || std::any_of(c.replies.begin(), c.replies.end(), is_from_replica);
      c.outcome = c.fsm->hear(std::exchange(c.replies, {}));
      if (!c.outcome) {
        connection().restart(i);
        continue;
      }
    }
    ++i;
  }
  return demoted;
}

link::notifications link::notifications_in(const std::vector<value>& pushes) const {
  notifications all;
  for (const value& p : pushes) {
    if (p.items.size() < 3 || p.items[0].text != "message") continue;
    if (const auto n = read_notification(p.items[2].text, settings_.speech)) all.push_back(*n);
  }
  return all;
}

bool link::has_changes(const std::vector<value>& pushes) const {
  return std::any_of(pushes.begin(), pushes.end(), [this](const value& p) {
    return p.items.size() >= 2 && p.items[0].text == "invalidate" && is_of_our_keys(p.items[1]);
  });
}

/// Null: everything was flushed.
bool link::is_of_our_keys(const value& invalidation) const {
  const std::string& prefix = settings_.speech.prefix;
  return !invalidation.is(value::kind::list) ||
         std::any_of(invalidation.items.begin(), invalidation.items.end(), [&](const value& key) {
           const auto lock = lock_of_side_key(key.text);
           return lock ? lock->starts_with(prefix) : key.text.starts_with(prefix);
         });
}

}  // namespace holdfast::redis
