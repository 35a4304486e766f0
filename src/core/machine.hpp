// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <variant>

#include "base/failure.hpp"
#include "core/notification.hpp"
#include "core/results.hpp"

namespace holdfast::store {

// The events of a machine. Another is `notification`: of the store, about the machine's claim.

/// The first event of every machine.
struct started {};
/// The answer to its last request; at most one request of a machine is under way.
template <class Reply>
struct replied {
  std::variant<Reply, request_error> outcome;
};
/// The time of the last `wake_at` has come.
struct woken {};
/// The user has cancelled: withdraw what may be at the store, then finish. No answer is due.
struct cancelled {};

template <class Reply>
using event = std::variant<started, replied<Reply>, notification, woken, cancelled>;

/// The actions of a machine after an event. Absent members ask for nothing.
template <class Request>
struct wishes {
  std::optional<Request> send{};  // to the store; the reply is an event
  /// Replaces the time asked for earlier, as a request does: with one, the end of the wait for its reply.
  std::optional<time_point> wake_at{};
  bool finished = false;  // forget the machine
  bool in_vain = false;   // the store refuses it: its end need not be awaited
};
/// The same, with the result, which is given after the other actions.
template <class Request, class Result>
struct actions : wishes<Request> {
  std::optional<Result> answer{};  // for the user; given once, unless cancelled first
};

// A machine is a class with
//
//     actions<request, result> resume(time_point now, std::uint64_t random, const event<reply>& e);
//
// It is an operation at a store, with neither socket, clock, thread nor randomness inside: time and jitter
// come in, so that the runtime and the simulator drive the very same code (the sans-I/O pattern of
// Boost.MySQL and Boost.Redis).

}  // namespace holdfast::store
