#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <poll.h>

#include "holdfast/error.hpp"
#include "runtime/multiplexed_connection.hpp"
#include "runtime/signals.hpp"

namespace holdfast::runtime {

template <class Wire>
void multiplexed_connection<Wire>::start() {
  thread_ = quiet_thread([this] { run(); });
}

template <class Wire>
void multiplexed_connection<Wire>::stop() {
  connector_.stop();
  wakeup_.ring();
  baton_.wake();
  if (thread_.joinable()) thread_.join();
}

// ---- callers

template <class Wire>
void multiplexed_connection<Wire>::kick() {
  if (queued_ == 0) return;
  if (in_flight_ > settings_.batch_above && baton_.is_taken()) return;  // the reader sends it
  flush();
  if ((urgent_ || queued_ != 0) && !baton_.is_taken()) baton_.wake();
}

template <class Wire>
void multiplexed_connection<Wire>::help(store::caller& caller) {
  if (in_flight_ <= settings_.batch_above || !baton_.is_taken()) flush();
  baton_.serve(caller, [this] { return connected_.load(); }, [&] { read_until_served(&caller); });
  if ((urgent_ || queued_ != 0) && !baton_.is_taken()) baton_.wake();
}

// ---- sending

template <class Wire>
void multiplexed_connection<Wire>::push(request_ptr r, bool urgent) {
  if (urgent) urgent_ = true;
  const annotated::lock held{queue_mutex_};
  pipeline_.push(std::move(r));
  queued_ = pipeline_.queued();
}

template <class Wire>
void multiplexed_connection<Wire>::flush() {
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
    wire_->write_out();
    if (pipeline_.in_flight() == 0) unusable_ = wire_->retirement();
  } catch (const connection_error& c) {
    unusable_ = c;
  } catch (const std::exception& e) {  // out of memory; a part of the request may have been sent
    unusable_ = connection_error{{errc::exhausted, e.what()}};
  }
  // The reader has to learn that, or to wait for other events now.
  if (unusable_ || wire_->events() != events) wakeup_.ring();
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
  const store::trouble reason{at_place(error.reason), error.passing, false};
  std::deque<request_ptr> failed;
  {
    const annotated::lock held{queue_mutex_};
    failed = pipeline_.fail_queued(reason);
    queued_ = 0;
  }
  if (failed.empty()) return;
  const core_lock now{loop_, true};
  complete_all(failed);
}

// ---- reading

/// \param caller null: until a caller wants to read.
template <class Wire>
void multiplexed_connection<Wire>::read_until_served(store::caller* caller) {
  urgent_ = false;
  try {
    while (connected_ && !connector_.is_stopping()) {
      if (fresh_.exchange(false)) protocol_.begin_reading();
      flush();
      if (caller != nullptr ? caller->is_served() : baton_.has_to_give_way()) return;
      wait_for_bytes(caller);
    }
  } catch (const connection_error& c) {
    disconnect(c);
  } catch (const std::exception& e) {  // out of memory
    disconnect({{errc::exhausted, e.what()}});
  }
}

template <class Wire>
void multiplexed_connection<Wire>::wait_for_bytes(store::caller* caller) {
  const auto patience = check_health();
  std::array<pollfd, 2> fds{pollfd{-1, 0, 0}, pollfd{wakeup_.descriptor(), POLLIN, 0}};
  {
    const annotated::lock held{wire_mutex_};
    fds[0].fd = wire_->descriptor();
    fds[0].events = wire_->events();
  }
  if (caller != nullptr && !caller->begin_polling(wakeup_.descriptor())) return;
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(limit));
  if (caller != nullptr) caller->end_polling();
  if (ready <= 0) return;
  if (fds[1].revents != 0) wakeup_.drain();
  if (fds[0].revents != 0) protocol_.read(fds[0].revents);
}

/// Pings a server that has been silent for long.
/// \return when to check again. \throws connection_error where the wire is of no use, or a reply is overdue.
template <class Wire>
typename multiplexed_connection<Wire>::clock::duration multiplexed_connection<Wire>::check_health() {
  const annotated::lock held{wire_mutex_};
  if (!unusable_ && pipeline_.in_flight() == 0) unusable_ = wire_->retirement();
  if (unusable_) throw connection_error{*unusable_};
  const auto now = clock::now();
  if (pipeline_.in_flight() == 0 && now >= heard_ + settings_.quiet_limit) {
    request_ptr ping = protocol_.ping();
    request& sent = pipeline_.start(ping);
    count_in_flight();
    wire_->put(sent);
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
void multiplexed_connection<Wire>::disconnect(const connection_error& error) {
  const store::trouble no_reply{at_place(error.reason), true, true};
  protocol_.on_disconnect();
  {
    const annotated::lock held{wire_mutex_};
    pipeline_.finish_all();
    in_flight_ = 0;
    wire_.reset();
    unusable_.reset();
    if (error.planned) {
      connector_.on_success();  // the next connection is made at once
    } else {
      unusable_ = connection_error{error.reason};
    }
    connected_ = false;
  }
  pipeline_.fail_completed(no_reply);
  if (!pipeline_.completed().empty()) {
    {
      const core_lock now{loop_, true};
      pipeline_.run_handlers();
    }
    pipeline_.forget_completed();
  }
  baton_.wake();  // the connection's own thread, which connects
}

// ---- the connection's own thread

template <class Wire>
void multiplexed_connection<Wire>::run() {
  while (!connector_.is_stopping()) {
    if (!connected_) {
      connector_.await_turn();
      connect();
      continue;
    }
    baton_.rest();
    if (connector_.is_stopping() || !connected_ || !baton_.take_in_background()) continue;
    read_until_served(nullptr);
    baton_.leave();
  }
}

template <class Wire>
void multiplexed_connection<Wire>::connect() {
  try {
    auto made = protocol_.connect(connector_.stop_descriptor());
    {
      const annotated::lock held{wire_mutex_};
      wire_ = std::move(made);
      heard_ = clock::now();
      unusable_.reset();
      fresh_ = true;
      connected_ = true;
    }
    flush();
    protocol_.on_connected();
    flush();
  } catch (const connection_error& c) {
    give_up(c);
  } catch (const std::exception& e) {  // out of threads or memory
    give_up(connection_error{{errc::exhausted, e.what()}});
  }
}

/// For now. Requests that are sent meanwhile fail with this error.
template <class Wire>
void multiplexed_connection<Wire>::give_up(const connection_error& error) {
  {
    const annotated::lock held{wire_mutex_};
    unusable_ = error;
  }
  if (connected_) wakeup_.ring();  // a caller may be reading already: it finds out
  fail_queued(error);
}

}  // namespace holdfast::runtime
