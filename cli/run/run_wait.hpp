// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "claim.hpp"
#include "descriptor.hpp"
#include "signal_inbox.hpp"
#include <holdfast/boot_clock.hpp>
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// How waiting for a claim ended: with a lease, with a signal that requests the end, or with neither,
/// because the time was up.
struct wait_result {
  std::optional<lease_set> held;
  std::optional<int> interrupted_by;
};

/// Which signals end a wait.
using ends_wait = std::function<bool(int number)>;

/// Calls `call` on a thread of its own, so that signals are handled and the line on the terminal is updated.
/// A wait that is interrupted closes the client, which ends the call.
/// \param wish for the line. \param troubled raised when the store may grant nothing to anybody: without a
/// terminal a line says so. Null: no such line. \return the signal that interrupted it. \throws what the call
/// threw.
[[nodiscard]] std::optional<int> await_call(client& locks, const claim& wish, signal_inbox& signals,
                                            const ends_wait& ends, const event* troubled,
                                            const std::function<void()>& call);

/// Whether a signal requests the end of a process.
[[nodiscard]] bool requests_end(int number);

/// Waits until it is so.
/// \param fd becomes readable, and stays so, when it is so; negative: nothing to wait for.
/// \param until the end of the wait in any case; empty: no limit. \return the signal that ended it sooner.
[[nodiscard]] std::optional<int> await_change(int fd, const std::function<bool()>& is_so,
                                              std::optional<boot_clock::time_point> until,
                                              signal_inbox& signals, const ends_wait& ends);

/// Waits for a time, or until a signal that ends it.
[[nodiscard]] std::optional<int> await_time(duration length, signal_inbox& signals, const ends_wait& ends);

/// Keeps a lock by waiting: until that time, until it is lost, or until a signal that requests the end.
void stay(const std::stop_token& lost, boot_clock::time_point until, signal_inbox& signals);

/// Waits on a thread of its own, so that signals are handled and the line on the terminal is updated. A wait
/// that is interrupted closes the client, which withdraws the claim from the queue.
/// \param troubled as for await_call.
[[nodiscard]] wait_result await_grant(client& locks, const claim& wish, signal_inbox& signals,
                                      const event* troubled);

}  // namespace holdfast::cli
