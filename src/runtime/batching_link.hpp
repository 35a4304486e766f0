// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"
#include "runtime/event_loop.hpp"

namespace holdfast::runtime {

/// A link over calls that block, for stores inside this process or on this host: whatever has been sent by
/// the time somebody gets to it is carried out together, by the link's own thread or by a caller who drives.
///
/// Waking a sleeping thread costs several times what a small transaction does. So the thread keeps out of the
/// way while callers drive, who carry out what others have sent along with their own; and it lingers in short
/// naps then, not to be woken for every release.
///
/// If memory runs out in one of its functions, the process ends.
///
/// A derived class supplies `execute`, and calls `start` last in its constructor; `shut` has to be called
/// before it is destroyed.
class batching_link : public tickets::link {
 public:
  ~batching_link() override = default;

  void send(tickets::request request, on_reply done) noexcept override;
  void take_back(std::uint64_t request) override;
  void on_notifications(on_notification handler) override { on_notification_ = std::move(handler); }
  void help(store::caller& blocked) override;
  bool drive() override;
  void kick() override;
  /// Ends the link's thread. Nothing is delivered afterwards. Idempotent.
  void shut() override;

 protected:
  struct job {
    tickets::request request;
    on_reply done;
    outcome result;
  };

  explicit batching_link(event_loop& owner) : loop_{owner} {}

  /// Carries out all of them, in order, and fills in their results. Called by one thread at a time, without
  /// the core lock.
  /// \return false with nothing done when others keep the store busy. Not on the last try, which fails all
  ///         of them instead.
  virtual bool execute(std::vector<job>& batch, bool last_try) noexcept HOLDFAST_REQUIRES(executing_) = 0;

  void start();
  /// For `execute`: a notification for a claim of this client, delivered with the batch's results.
  void deliver_after_batch(const store::notification& n) HOLDFAST_REQUIRES(executing_) {
    notifications_.push_back(n);
  }
  /// Delivers notifications at once. Any thread, without the core lock.
  void deliver(const std::vector<store::notification>& notifications) noexcept;
  [[nodiscard]] event_loop& owner() { return loop_; }
  /// Held by whoever executes: for those who need the link at rest.
  [[nodiscard]] annotated::mutex& executing() HOLDFAST_RETURN_CAPABILITY(executing_) { return executing_; }

 private:
  enum class progress : std::uint8_t { none, some, blocked };

  /// One batch. Unlocks `executing_` before anything is delivered: others can execute meanwhile.
  progress run(bool last_try, bool drives) noexcept HOLDFAST_RELEASE(executing_);
  bool drive_for(const store::caller* blocked);
  void work();
  bool sleep();
  bool take_nap(std::chrono::microseconds length);

  [[nodiscard]] std::vector<job> take_queue();
  void queue_again(std::vector<job> batch);
  /// Under the core lock.
  void pass_on(const std::vector<store::notification>& notifications) const;

  event_loop& loop_;
  on_notification on_notification_;
  std::vector<job> queue_ HOLDFAST_GUARDED_BY(loop_);
  std::vector<job> empty_ HOLDFAST_GUARDED_BY(loop_);  // the last batch: its memory is the next queue's
  std::atomic<std::size_t> queued_ = 0;
  annotated::mutex executing_;
  std::vector<store::notification> notifications_ HOLDFAST_GUARDED_BY(executing_);

  std::thread thread_;
  annotated::mutex wake_mutex_;
  annotated::condition_variable wake_;
  std::atomic<bool> wanted_ = false;     // the thread is up, or has been asked for
  std::atomic<std::size_t> driven_ = 0;  // how often callers have driven
  bool stopping_ HOLDFAST_GUARDED_BY(wake_mutex_) = false;
};

}  // namespace holdfast::runtime
