// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <deque>

#include "base/annotated_mutex.hpp"
#include "core/caller.hpp"

namespace holdfast::runtime {

/// Decides which thread reads connections: one at a time. A blocked caller that reads by itself gets its
/// reply without another thread having to be woken for it, which costs more than a round trip to a server
/// nearby. When it has its reply, the next blocked caller goes on reading; while none is blocked, the link's
/// own thread does: the background.
///
/// The background keeps out of the way for a while after callers have come and gone, since more of them will
/// come (`rest`), and gives way to the first caller that comes while it is reading.
class HOLDFAST_CAPABILITY("reader baton") reader_baton {
 public:
  /// \param wakeup_fd an eventfd that ends the reader's wait for descriptors.
  explicit reader_baton(int wakeup_fd) : wakeup_fd_{wakeup_fd} {}

  /// \param urgent before the callers that wait already.
  /// \return whether the caller reads now. If not, it will be called when it may, and has to `retire` in the
  /// end.
  [[nodiscard]] bool take(store::caller& caller, bool urgent = false);
  void leave();
  void retire(store::caller& caller);
  /// All of it for a caller, until it is served: it reads when it may, and waits when it may not.
  /// \param can_read whether there is a connection that a caller can read.
  /// \param urgent see `take`.
  template <class CanRead, class Read>
  void serve(store::caller& caller, CanRead can_read, Read read, bool urgent = false) noexcept {
    bool waits = false;  // in the queue of the baton
    while (!caller.is_served()) {
      const bool may_read = can_read();
      if (may_read && take(caller, urgent)) {
        read();
        leave();
        waits = false;
      } else {
        waits = waits || may_read;
        if (!caller.is_served()) caller.wait();
      }
    }
    if (waits) retire(caller);
  }

  // The link's own thread:
  /// \param urgent also where callers would like to: what has to be done now, they cannot do.
  [[nodiscard]] bool take_in_background(bool urgent = false);
  /// Until no caller has come for a while, or `wake`.
  void rest();
  [[nodiscard]] bool has_to_give_way() const { return give_way_.load(std::memory_order_relaxed); }

  /// Ends a rest. Any thread.
  void wake();
  /// Whether a thread reads.
  [[nodiscard]] bool is_taken() const { return reader_.load(std::memory_order_relaxed) != reader::nobody; }
  /// Ends the reader's wait for descriptors. Any thread.
  void ring() const;
  /// Aborts, where assertions are on, if no thread reads. For the analysis: the reader calls it first.
  void assert_taken() const HOLDFAST_ASSERT_CAPABILITY(this) { assert(is_taken()); }

 private:
  annotated::mutex mutex_;
  enum class reader : std::uint8_t { nobody, caller, background };

  /// With nobody reading: to the next caller, or to the background.
  void pass_on() HOLDFAST_REQUIRES(mutex_);

  const int wakeup_fd_;
  std::atomic<reader> reader_ = reader::nobody;                     // changed with mutex_ locked
  std::deque<store::caller*> waiting_ HOLDFAST_GUARDED_BY(mutex_);  // blocked callers that do not read
  std::atomic<bool> give_way_ = false;
  std::uint64_t turns_of_callers_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // how often callers have read
  annotated::condition_variable rested_;
  bool woken_ HOLDFAST_GUARDED_BY(mutex_) = false;
  /// Until woken, or all callers have gone: that may take hours.
  bool sleeps_deeply_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::runtime
