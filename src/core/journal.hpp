// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/annotated_mutex.hpp"
#include "core/claim.hpp"
#include "holdfast/event.hpp"
#include "holdfast/statistics.hpp"

namespace holdfast::events {

/// What client_statistics counts, each in the member of that name.
enum class counter : std::uint8_t {
  connects,
  connect_failures,
  disconnects,
  granted_exclusive,
  granted_shared,
  granted_permits,
  queued,
  refused,
  failed,
  withdrawn,
  troubles,
  released,
  lost_ended_at_store,
  lost_not_renewed,
  lost_session_ended,
  lost_client_closed,
  renewals,
  late_renewals,
  events_dropped,
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(counter::events_dropped) + 1;

/// The counter of grants in that mode, and that of losses for that reason.
[[nodiscard]] counter grants_of(mode m) noexcept;
[[nodiscard]] counter losses_of(loss_reason reason) noexcept;

/// The members of an event that a claim determines.
void describe(const store::claim& c, event& e);

/// Durations, as they are measured under the core lock. May be read from any thread.
class live_histogram {
 public:
  void add(duration measured) noexcept;
  [[nodiscard]] histogram value() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, histogram::bucket_count> counts_{};
  std::atomic<std::int64_t> sum_us_ = 0;
};

/// The events of one client: counts them, and calls the user's observer, if there is one. Every layer tells
/// it what happens there.
///
/// Events wait in a bounded queue for the client's thread for callbacks. An observer that is too slow costs
/// events, which are counted; it holds up nobody. Without an observer nothing is allocated, and no time read.
class journal {
 public:
  using observer = std::function<void(const event&)>;
  /// Runs an action later, on the thread for callbacks. May be called under locks.
  using executor = std::function<void(std::function<void()>)>;
  /// How many events wait at most.
  static constexpr std::size_t capacity = 1024;

  journal() = default;
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;

  /// Sets the observer. Once, before anything happens; an empty one observes nothing.
  void observe(observer watches, executor later);
  /// False also after `end`. Any thread.
  [[nodiscard]] bool is_observed() const noexcept { return observed_.load(std::memory_order_relaxed); }

  /// Any thread.
  void count(counter which) noexcept { at(which).fetch_add(1, std::memory_order_relaxed); }
  /// The same under the core lock, for counters that are counted nowhere else: costs no locked instruction.
  void count_alone(counter which) noexcept {
    auto& value = at(which);
    value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  live_histogram wait;
  live_histogram hold;
  live_histogram lateness;

  /// Tells the observer, if there is one. Any thread, also under locks.
  /// \param describe fills in all but `kind`, `at` and `dropped`.
  template <class Describe>
  void tell(event_kind kind, Describe describe) noexcept {
    if (!is_observed()) return;
    event e;
    e.kind = kind;
    describe(e);
    push(std::move(e));
  }

  /// The client is closed; may be called again, by each thread that closes it. Waits until the observer has
  /// been told of all events, at most until the limit, and for a call of it that runs; it is not called any
  /// more. Called by the observer itself, or without a limit by another of the client's threads, it does not
  /// wait for events.
  void end(std::optional<std::chrono::steady_clock::time_point> limit) noexcept;

  /// Any thread; takes no lock.
  [[nodiscard]] client_statistics statistics() const noexcept;

 private:
  [[nodiscard]] std::atomic<std::uint64_t>& at(counter which) noexcept {
    return counters_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] std::uint64_t value(counter which) const noexcept {
    return counters_[static_cast<std::size_t>(which)].load(std::memory_order_relaxed);
  }
  void push(event e);
  void deliver();
  [[nodiscard]] std::optional<event> next();

  std::array<std::atomic<std::uint64_t>, counter_count> counters_{};
  std::atomic<bool> observed_ = false;
  observer observer_;
  executor later_;
  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  std::deque<event> queue_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t untold_drops_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  bool delivers_ HOLDFAST_GUARDED_BY(mutex_) = false;    // `deliver` runs, or is about to
  std::thread::id calls_ HOLDFAST_GUARDED_BY(mutex_){};  // the thread that is in the observer
};

}  // namespace holdfast::events
