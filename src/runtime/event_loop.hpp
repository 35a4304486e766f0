// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/journal.hpp"
#include "core/scheduler.hpp"

namespace holdfast::runtime {

/// The thread of a client that never blocks on a store: it fires timers and waits for descriptors. The loop
/// also owns two lanes, the threads that call user code, and the mutex of the client's core. This thread, a
/// link's threads and users' threads lock that mutex (class `core_lock`), so that a caller wakes nobody to
/// get its own work done.
///
/// Timers run on CLOCK_BOOTTIME, so that a lease also ends while the machine sleeps.
///
/// If memory runs out in one of its functions, the process ends, except in the constructor and `on_readable`.
class HOLDFAST_CAPABILITY("core lock") event_loop final : public store::scheduler {
 public:
  /// \throws holdfast::error errc::exhausted when the process is out of descriptors or threads.
  event_loop();
  /// Stops the thread; what has not fired by then never does. Not to be called by that thread itself.
  ~event_loop() override;

  /// From now on `action` is called after every release of the core lock, except by who says that it drives.
  /// Set once.
  void on_core_lock_released(std::function<void()> action) {
    kick_ = std::move(action);
    kicks_.store(true, std::memory_order_release);
  }

  /// Calls `heard` on the loop's thread, without the core lock, whenever `descriptor` can be read, until the
  /// returned object is destroyed. It has to read until it would block.
  [[nodiscard]] std::shared_ptr<void> on_readable(int descriptor, std::function<void()> heard);
  /// Runs what is still due to users, then ends the threads: no timers and descriptors any more. Idempotent.
  void stop();

  /// Aborts, where assertions are on, unless this thread has the core lock, or the loop was stopped.
  /// Functions that are called through an interface begin with it: clang's analysis does not see their
  /// callers.
  void assert_core_locked() const HOLDFAST_ASSERT_CAPABILITY(this);

  // Under the core lock:
  [[nodiscard]] store::time_point now() const override { return boot_clock::now(); }
  [[nodiscard]] std::uint64_t random() override;
  [[nodiscard]] owner_id new_owner() override { return owner_id::random(); }
  timer at(store::time_point when, std::function<void()> action) noexcept override;
  void cancel(timer which) noexcept override;
  /// For users' callbacks: on the lane for callbacks. One that blocks delays the callbacks behind it.
  void defer_callback(std::function<void()> action) noexcept override;
  /// For stop tokens and completions: on the lane for signals, which no user's callback delays. A stop
  /// callback runs in this lane, too: one that blocks delays the signals and completions behind it.
  void defer_signal(std::function<void()> action) noexcept;
  /// As `defer_callback`, for what is not user code and may run on whatever thread has the core lock.
  void defer(std::function<void()> action) noexcept;

  /// Sets the observer of the client's events. Once, before anything happens.
  void observe(events::journal::observer observer);
  /// The events of the client. Any thread.
  [[nodiscard]] events::journal& journal() noexcept { return journal_; }

  /// As `defer_callback`, at once, from any thread.
  void call_back(std::function<void()> action) noexcept;

 private:
  friend class core_lock;
  class timers;
  struct io;

  /// What was deferred until the core lock is released.
  struct deferred {
    std::vector<std::function<void()>> here;  // on this thread
    std::vector<std::function<void()>> signals;
    std::vector<std::function<void()>> callbacks;

    [[nodiscard]] bool empty() const { return here.empty() && signals.empty() && callbacks.empty(); }
  };

  void lock() HOLDFAST_ACQUIRE();
  /// Unlocks, then does what was deferred.
  /// \param drives see core_lock.
  void unlock(bool drives) noexcept HOLDFAST_RELEASE();
  void unlock_and_catch_up(bool drives) noexcept HOLDFAST_RELEASE();
  void kick(bool drives) const {
    if (!drives && kicks_.load(std::memory_order_acquire)) kick_();
  }
  void fire() noexcept HOLDFAST_EXCLUDES(this);

  events::journal journal_;
  annotated::mutex mutex_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::thread::id> owner_;  // of the core lock
  deferred deferred_ HOLDFAST_GUARDED_BY(this);
  std::function<void()> kick_;  // may be read once `kicks_` is true
  std::atomic<bool> kicks_ = false;
  std::array<std::uint64_t, 64> random_ HOLDFAST_GUARDED_BY(this){};  // a system call fills it
  std::size_t random_left_ HOLDFAST_GUARDED_BY(this) = 0;
  const std::unique_ptr<timers> timers_ HOLDFAST_PT_GUARDED_BY(this);
  std::unique_ptr<io> io_;
};

/// The lock of a client's core, from construction to destruction. Then, with the mutex free, what
/// was left for later is done: loss signals and users' completions go to the lane for signals, users'
/// callbacks to the lane for callbacks, and the link is kicked. No user code runs here: a user's
/// thread may hold locks of its own while it is in one of our calls, and user code that takes its time must
/// hold up neither timers nor replies.
class HOLDFAST_SCOPED_CAPABILITY core_lock {
 public:
  /// \param drives the caller is about to drive the link itself, which makes waking another thread for it
  ///        unnecessary.
  explicit core_lock(event_loop& of, bool drives = false) HOLDFAST_ACQUIRE(of) : loop_{of}, drives_{drives} {
    of.lock();
  }
  ~core_lock() HOLDFAST_RELEASE() { loop_.unlock(drives_); }
  core_lock(const core_lock&) = delete;
  core_lock& operator=(const core_lock&) = delete;

 private:
  event_loop& loop_;
  bool drives_;
};

}  // namespace holdfast::runtime
