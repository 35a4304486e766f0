// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/machine.hpp"
#include "runtime/connection_reader.hpp"

namespace holdfast::runtime {

/// A request and its outcome. A protocol derives its own type, with the bytes to send and the replies to
/// read.
template <class Outcome, class Handler = std::function<void(Outcome&&)>>
class pending_request {
 public:
  Handler handler;  // null: nobody is interested in the outcome
  std::optional<Outcome> outcome;
  awaited_reply awaited;  // by a caller

  /// There will be no reply. An outcome that is known already stays.
  void fail(const store::request_error& reason) {
    if (handler && !outcome) outcome = reason;
  }
  /// Runs the handler, the first time.
  /// \throws std::bad_optional_access if the protocol has set no outcome.
  void complete() {
    if (!handler) return;
    Outcome& result = outcome.value();
    std::exchange(handler, nullptr)(std::move(result));
  }

 protected:
  pending_request() = default;
  ~pending_request() = default;
};

/// The requests of a connection, in order, from when they are sent until their handlers have run. A value:
/// without I/O, threads and time.
///
///     queued --start_next--> in flight --finish_first--> completed --forget_completed--> gone
///                                ^                          |
///                                +---------- restart -------+
///
/// A request is in exactly one of the stages: so none is lost, and each hears when the connection breaks.
///
/// Not synchronized. A stage may have a mutex of its own: each function says which stages it uses.
///
/// `Request` has `fail(const store::request_error&)` and `complete()`: see pending_request.
template <class Request>
class request_pipeline {
 public:
  using request_ptr = std::unique_ptr<Request>;

  // Queued:
  void push(request_ptr r) { queued_.push_back(std::move(r)); }
  [[nodiscard]] std::size_t queued() const { return queued_.size(); }
  /// Takes out the first one for which `which` is true. \return it; null: there is none.
  template <class Which>
  [[nodiscard]] request_ptr take_queued(const Which& which) {
    const auto found =
        std::find_if(queued_.begin(), queued_.end(), [&](const request_ptr& each) { return which(*each); });
    if (found == queued_.end()) return nullptr;
    request_ptr taken = std::move(*found);
    queued_.erase(found);
    return taken;
  }
  /// Fails all that are queued. \return them: they still have to be completed.
  [[nodiscard]] std::deque<request_ptr> fail_queued(const store::request_error& reason) {
    for (const request_ptr& each : queued_) each->fail(reason);
    return std::exchange(queued_, {});
  }

  // Queued and in flight:
  /// Puts the next queued request in flight.
  /// \param depth how many may be in flight.
  /// \return it; null: nothing is queued, or there is no room.
  [[nodiscard]] Request* start_next(std::size_t depth) {
    if (queued_.empty() || in_flight_.size() >= depth) return nullptr;
    Request& next = start(std::move(queued_.front()));
    queued_.pop_front();
    return &next;
  }

  // In flight:
  /// Puts a request in flight that was not queued.
  Request& start(request_ptr r) {
    in_flight_.push_back(std::move(r));
    return *in_flight_.back();
  }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }
  /// The one to which the next reply belongs; null: no reply is due.
  [[nodiscard]] Request* first_in_flight() const {
    return in_flight_.empty() ? nullptr : in_flight_.front().get();
  }

  // In flight and completed:
  /// The first in flight has its replies.
  void finish_first() {
    completed_.push_back(std::move(in_flight_.front()));
    in_flight_.pop_front();
  }
  void finish_all() {
    while (!in_flight_.empty()) finish_first();
  }
  /// A completed request has more to send: it is in flight again, as the last.
  /// \param index of it in `completed`, where the next takes its place.
  Request& restart(std::size_t index) {
    Request& again = start(std::move(completed_[index]));
    completed_.erase(completed_.begin() + static_cast<std::ptrdiff_t>(index));
    return again;
  }

  // Completed:
  [[nodiscard]] const std::vector<request_ptr>& completed() const { return completed_; }
  /// Fails those without an outcome.
  void fail_completed(const store::request_error& reason) const {
    for (const request_ptr& each : completed_) each->fail(reason);
  }
  /// Runs the handlers that have not run. A handler may push new requests.
  /// \throws what `complete` throws.
  void run_handlers() {
    for (const request_ptr& each : completed_) each->complete();
  }
  /// After `run_handlers`. Apart from it, so that long replies are not freed under a lock.
  void forget_completed() { completed_.clear(); }

 private:
  std::deque<request_ptr> queued_;
  std::deque<request_ptr> in_flight_;
  std::vector<request_ptr> completed_;
};

}  // namespace holdfast::runtime
