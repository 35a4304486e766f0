// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "api/client_core.hpp"
#include "api/ends.hpp"
#include "base/annotated_mutex.hpp"

namespace holdfast::detail {

/// The mutex of the holds that a lock object keeps for the standard's verbs. Threads that lock wait until the
/// object has room for one more.
class vacancy {
 public:
  annotated::mutex mutex;
  /// To be notified, without the mutex, when a hold was taken out.
  annotated::condition_variable unlocked;

  /// A standard's verb: waits until the object has room, acquires, and keeps the hold there.
  /// \param is_vacant, keep are called with the mutex locked.
  /// \param acquire is called with the limit that is left; it returns an optional hold.
  /// \return whether it is locked. False when the time was up or the wait was stopped.
  /// \throws holdfast::error errc::closed; errc::timeout if the object had no room for the whole limit of the
  ///         options, made by `no_room`; what the functions throw.
  template <class Vacant, class Acquire, class Keep, class NoRoom>
  bool lock(const client_core& owner, const acquiring& call, Vacant is_vacant, Acquire acquire, Keep keep,
            NoRoom no_room) {
    std::optional<clock::time_point> until;
    if (call.limit) until = clock::now() + *call.limit;
    const auto refused = [&] {
      if (!call.may_be_empty && !call.stop.stop_requested()) throw no_room();
      return false;
    };
    if (!when(is_vacant, [] {}, owner, until, call.stop)) return refused();
    acquiring rest = call;
    if (call.limit > duration::zero()) rest.limit = left_until(*until);
    auto granted = acquire(rest);
    if (!granted) return false;
    // Another thread may have locked the object meanwhile, or its hold may have been lost: its place here is
    // still taken.
    return when(is_vacant, [&] { keep(std::move(*granted)); }, owner, until, call.stop) || refused();
  }

 private:
  using clock = std::chrono::steady_clock;

  /// Waits until `is_vacant` answers true, and calls `then`; both are called with the mutex locked.
  /// \return false when the time was up or the wait was stopped. \throws holdfast::error errc::closed.
  template <class Vacant, class Then>
  bool when(Vacant is_vacant, Then then, const client_core& owner,
            const std::optional<clock::time_point>& until, const std::stop_token& stop) {
    {
      const annotated::lock held{mutex};
      if (is_vacant()) {
        then();
        return true;
      }
    }
    const auto wake = [this] {
      {
        const annotated::lock held{mutex};
      }
      unlocked.notify_all();
    };
    const std::stop_callback on_closing{owner.closing(), wake};
    const std::stop_callback on_stop{stop, wake};
    const auto is_given_up = [&] { return owner.is_closed() || stop.stop_requested(); };
    bool vacant = false;
    {
      const annotated::lock held{mutex};
      while (!is_vacant() && !is_given_up()) {
        if (!until) {
          unlocked.wait(mutex);
        } else if (unlocked.wait_until(mutex, *until) == std::cv_status::timeout) {
          break;
        }
      }
      vacant = is_vacant() && !owner.is_closed();
      if (vacant) then();
    }
    if (!vacant) owner.require_open();
    return vacant;
  }

  /// What is left until the end of a wait that began with a limit; zero if it has passed.
  [[nodiscard]] static duration left_until(clock::time_point until) {
    return std::max(std::chrono::ceil<duration>(until - clock::now()), duration::zero());
  }
};

}  // namespace holdfast::detail
