#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "api/client_core.hpp"
#include "base/annotated_mutex.hpp"

namespace holdfast::detail {

/// The mutex of the holds that a lock object keeps for the standard's verbs. Threads that lock wait until the
/// object has room for one more.
class vacancy {
 public:
  using clock = std::chrono::steady_clock;

  annotated::mutex mutex;
  /// To be notified, without the mutex, when a hold was taken out.
  annotated::condition_variable unlocked;

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
};

/// What is left until the end of a wait that began with a limit; zero where it has passed.
[[nodiscard]] inline duration left_until(vacancy::clock::time_point until) {
  return std::max(std::chrono::ceil<duration>(until - vacancy::clock::now()), duration::zero());
}

}  // namespace holdfast::detail
