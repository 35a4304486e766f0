#pragma once

#include <algorithm>
#include <deque>

#include "holdfast/error.hpp"
#include "runtime/multiplexed_connection.hpp"

namespace holdfast::runtime {

// ---- callers

template <class Wire>
void multiplexed_connection<Wire>::kick() {
  if (queued_ == 0 || is_left_to_reader()) return;
  flush();
  reader_.ensure_reading(queued_ != 0);
}

template <class Wire>
void multiplexed_connection<Wire>::flush_unless_read() {
  if (!is_left_to_reader()) flush();
}

/// The reader sends a few requests together, when the next reply comes. If it sent many, too, the server
/// would have nothing to do while the replies to those before are read.
template <class Wire>
bool multiplexed_connection<Wire>::is_left_to_reader() const {
  return in_flight_ > settings_.batch_above && queued_ < settings_.batch_above && reader_.is_reading();
}

template <class Wire>
void multiplexed_connection<Wire>::help(store::caller& caller) {
  flush_unless_read();
  reader_.serve(caller);
  if (queued_ != 0) reader_.ensure_reading(true);
}

// ---- sending

template <class Wire>
void multiplexed_connection<Wire>::push(request_ptr r, bool urgent) noexcept {
  if (urgent) reader_.expect_reply();
  const annotated::lock held{queue_mutex_};
  pipeline_.push(std::move(r));
  queued_ = pipeline_.queued();
}

template <class Wire>
void multiplexed_connection<Wire>::flush() noexcept {
  if (queued_ == 0) return;
  std::optional<connection_error> error;
  {
    const annotated::lock held{wire_mutex_};
    if (connected_) return send_queued();
    error = unusable_;
  }
  if (error) fail_queued(*error);
}

template <class Wire>
void multiplexed_connection<Wire>::send_queued() {
  if (unusable_) return;  // the queue waits for the next connection
  const short events = wire_->events();
  try {
    while (request* const next = start_next()) wire_->put(*next);
    // After that: a wire may need a ping from one moment to the next, and takes no request from then on.
    if (queued_ != 0 && pipeline_.in_flight() == 0 && wire_->needs_ping()) start_ping();
    wire_->write_out();
    if (pipeline_.in_flight() == 0) unusable_ = wire_->retirement();
  } catch (const connection_error& c) {
    unusable_ = c;
  }
  // The reader has to learn that, or to wait for other events now.
  if (unusable_ || wire_->events() != events) reader_.interrupt();
}

template <class Wire>
void multiplexed_connection<Wire>::start_ping() {
  request& sent = pipeline_.start(protocol_.ping());
  count_in_flight();
  wire_->put(sent);
}

template <class Wire>
typename multiplexed_connection<Wire>::request* multiplexed_connection<Wire>::start_next() {
  const annotated::lock held{queue_mutex_};
  request* const next = pipeline_.start_next(wire_->depth());
  if (next == nullptr) return nullptr;
  queued_ = pipeline_.queued();
  count_in_flight();
  return next;
}

/// After one has been put in flight.
template <class Wire>
void multiplexed_connection<Wire>::count_in_flight() {
  in_flight_ = pipeline_.in_flight();
  if (in_flight_ == 1) due_since_ = clock::now();
}

template <class Wire>
void multiplexed_connection<Wire>::fail_queued(const connection_error& error) {
  const store::request_error reason{at_place(error.reason), error.retryable, false};
  std::deque<request_ptr> failed;
  {
    const annotated::lock held{queue_mutex_};
    failed = pipeline_.fail_queued(reason);
    queued_ = 0;
  }
  if (failed.empty()) return;
  const core_lock now{loop_, true};
  for (const request_ptr& each : failed) each->complete();
}

template <class Wire>
bool multiplexed_connection<Wire>::is_stalled(std::chrono::steady_clock::duration limit) {
  const annotated::lock held{wire_mutex_};
  if (!connected_) return queued_ != 0;
  return pipeline_.in_flight() != 0 && clock::now() >= due_since_ + limit;
}

// ---- reading

template <class Wire>
void multiplexed_connection<Wire>::prepare() noexcept {
  if (!connected_) return;
  try {
    if (fresh_.exchange(false)) protocol_.begin_reading();
    flush();
  } catch (...) {
    disconnect(caught_connection_error());
  }
}

template <class Wire>
readable_connection::interest multiplexed_connection<Wire>::check() noexcept {
  interest wanted;
  if (!connected_) return wanted;
  try {
    const annotated::lock held{wire_mutex_};
    wanted.patience = check_health();
    wanted.events = wire_->events();
    wanted.descriptor = wire_->descriptor();
  } catch (const connection_error& c) {
    disconnect(c);
  }
  return wanted;
}

template <class Wire>
void multiplexed_connection<Wire>::read(short ready) noexcept {
  if (!connected_) return;
  try {
    protocol_.read(ready);
  } catch (...) {
    disconnect(caught_connection_error());
  }
}

/// Pings a server that has been silent for long.
/// \return when to check again. \throws connection_error where the wire is of no use, or a reply is overdue.
template <class Wire>
typename multiplexed_connection<Wire>::clock::duration multiplexed_connection<Wire>::check_health() {
  if (!unusable_ && pipeline_.in_flight() == 0) unusable_ = wire_->retirement();
  if (unusable_) throw connection_error{*unusable_};
  const auto now = clock::now();
  if (pipeline_.in_flight() == 0 && now >= heard_ + settings_.quiet_limit) {
    start_ping();
    wire_->write_out();
  }
  // Other threads send meanwhile, and do not wake the reader: it looks again before their replies are
  // overdue.
  if (pipeline_.in_flight() == 0) {
    return std::min<clock::duration>(heard_ + settings_.quiet_limit - now, settings_.answer_limit / 2);
  }
  if (now < due_since_ + settings_.answer_limit) return due_since_ + settings_.answer_limit - now;
  throw connection_error{
      {errc::unavailable, "no answer within " + std::to_string(settings_.answer_limit.count()) + " ms"}};
}

template <class Wire>
void multiplexed_connection<Wire>::restart(std::size_t index) {
  const annotated::lock held{wire_mutex_};
  request& again = pipeline_.restart(index);
  count_in_flight();
  wire_->put(again);
  wire_->write_out();
}

/// Requests without a reply fail: whether they were carried out is unknown.
template <class Wire>
void multiplexed_connection<Wire>::disconnect(const connection_error& error) noexcept {
  {
    const annotated::lock held{wire_mutex_};
    pipeline_.finish_all();
    in_flight_ = 0;
    unusable_ = connection_error{error.reason};  // nothing more is sent
  }
  pipeline_.fail_completed({at_place(error.reason), true, true});
  protocol_.on_disconnect();
  {
    const annotated::lock held{wire_mutex_};
    wire_.reset();
    if (error.planned) {
      unusable_.reset();
      connector_.on_success();  // the next connection is made at once
    }
    connected_ = false;
  }
  report(events::counter::disconnects, event_kind::disconnected, error.reason);
  if (!pipeline_.completed().empty()) {
    const core_lock now{loop_, true};
    pipeline_.run_handlers();
  }
  pipeline_.forget_completed();
  reader_.on_disconnected(*this);
}

template <class Wire>
void multiplexed_connection<Wire>::close(const connection_error& reason) {
  {
    // Before `stop`: a thread that connects takes that for the end of the client, which is no reason to try
    // again.
    const annotated::lock held{wire_mutex_};
    closed_for_ = reason;
  }
  stop();
  if (connected_) disconnect(reason);
  give_up(reason);
}

template <class Wire>
void multiplexed_connection<Wire>::reconnect(const connection_error& reason) {
  {
    const annotated::lock held{wire_mutex_};
    if (connected_) {
      if (!unusable_) unusable_ = reason;
      reader_.interrupt();
      return;
    }
  }
  connector_.hurry();
}

// ---- connecting

template <class Wire>
void multiplexed_connection<Wire>::connect() noexcept {
  while (!connected_ && !connector_.is_stopping()) {
    connector_.await_turn();
    connect_once();
    if (reader_.has_more_to_connect()) return;
  }
}

template <class Wire>
void multiplexed_connection<Wire>::connect_once() {
  bool is_made = false;  // then its end is told as a disconnection
  try {
    auto made = protocol_.connect(connector_.stop_descriptor());
    const std::string server = loop_.journal().is_observed() ? place() : std::string{};
    {
      const annotated::lock held{wire_mutex_};
      // Before any request is answered; and an observer that sends one then waits for the wire.
      loop_.journal().count(events::counter::connects);
      loop_.journal().tell(event_kind::connected, [&](event& e) { e.text = server; });
      is_made = true;
      wire_ = std::move(made);
      heard_ = clock::now();
      unusable_.reset();
      fresh_ = true;
      connected_ = true;
    }
    flush();
    protocol_.on_connected();
    flush();
  } catch (...) {
    const connection_error c = caught_connection_error();
    if (!is_made) report_no_connection(c.reason);
    give_up(c);
  }
}

template <class Wire>
void multiplexed_connection<Wire>::report_no_connection(const failure& reason) noexcept {
  if (connector_.is_stopping()) return;  // the client's end ends a try, too
  report(events::counter::connect_failures, event_kind::connect_failed, reason);
}

template <class Wire>
void multiplexed_connection<Wire>::report(events::counter counted, event_kind kind,
                                          const failure& reason) noexcept {
  loop_.journal().count(counted);
  loop_.journal().tell(kind, [&](event& e) {
    e.code = reason.code;
    e.text = at_place(reason).message;
  });
}

/// For now. Requests that are sent meanwhile fail with this error.
template <class Wire>
void multiplexed_connection<Wire>::give_up(const connection_error& error) {
  connection_error reason = error;
  {
    const annotated::lock held{wire_mutex_};
    if (closed_for_) reason = *closed_for_;
    unusable_ = reason;
  }
  if (connected_) reader_.interrupt();  // a caller may be reading already: it finds out
  fail_queued(reason);
}

}  // namespace holdfast::runtime
