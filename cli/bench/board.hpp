// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "descriptor.hpp"

namespace holdfast::cli {

/// CLOCK_MONOTONIC, which all processes of a machine read alike.
[[nodiscard]] inline std::int64_t monotonic_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// A counter in shared memory that only the holder of the lock changes: load, then store. Deliberately not
/// one atomic step: if two held the lock at once, increments would get lost, and the sums would show it.
class guarded_counter {
 public:
  [[nodiscard]] std::int64_t get() const noexcept { return value_.load(std::memory_order_acquire); }
  void set(std::int64_t value) noexcept { value_.store(value, std::memory_order_release); }
  void add(std::int64_t more) noexcept { set(get() + more); }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

/// Closed at first; once open, it stays open. Threads of all processes sleep while they wait: hundreds of
/// polling contenders would take processor time from the measured store.
class shared_gate {
 public:
  void open() noexcept;
  void wait() const noexcept;

 private:
  std::atomic<std::uint32_t> open_ = 0;  // a futex
};

/// The results of one contender.
struct contender_results {
  guarded_counter grants;
  guarded_counter requested_at_ns;
  guarded_counter later_waits;  ///< waits after its first hold: the first ones fill the queue
  guarded_counter later_wait_ns;
};

/// The shared memory of all processes of `bench handoff`; zeroed at first.
struct handoff_board {
  static constexpr std::size_t contenders_max = 4096;
  static constexpr std::size_t samples_max = 1 << 20;

  // Set by the parent before the first contender starts.
  std::array<char, 64> name{};
  std::int64_t contenders_per_process = 0;
  bool one_client = false;  // for all of a process
  std::int64_t ttl_us = 0;
  std::int64_t grants_limit = 0;

  std::atomic<std::int64_t> ready = 0;
  std::atomic<std::int64_t> start_at_ns = 0;  ///< for all at the same moment; known when `begun` is open
  std::atomic<bool> stop = false;
  shared_gate begun;  ///< or stopped before it began
  std::atomic<bool> has_failed = false;
  shared_gate reported;  ///< the first failure; the others are its consequences, or say the same

  // Used by the holder of the lock only.
  guarded_counter grants;
  guarded_counter last_token;
  guarded_counter token_violations;
  guarded_counter unlocked_at_ns;
  guarded_counter unlocked_by;  ///< a process, counted from 1; 0: none yet
  guarded_counter handovers;    ///< from one process to another
  std::array<guarded_counter, samples_max> handover_ns;
  std::array<contender_results, contenders_max> contenders;
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

/// The board, mapped into this process.
class shared_board {
 public:
  /// Makes it: memory with a descriptor and no file, so that nothing can be left behind.
  shared_board();
  /// Maps what another process made, found by its path().
  explicit shared_board(const std::string& path);
  ~shared_board();
  shared_board(const shared_board&) = delete;
  shared_board& operator=(const shared_board&) = delete;

  /// Good for other processes of this user, for as long as this one lives.
  [[nodiscard]] std::string path() const;
  handoff_board* operator->() const noexcept { return board_; }
  handoff_board& operator*() const noexcept { return *board_; }

 private:
  [[nodiscard]] void* map() const;

  descriptor memory_;
  handoff_board* board_;
};

}  // namespace holdfast::cli
