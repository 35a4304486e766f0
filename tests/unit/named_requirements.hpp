// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <type_traits>

/// The standard's named requirements for mutexes ([thread.mutex.requirements], [thread.req.lockable]), and
/// the interface of std::counting_semaphore ([thread.sema.cnt]), as concepts.
namespace holdfast::test {

template <class L>
concept basic_lockable = requires(L lock) {
  { lock.lock() } -> std::same_as<void>;
  { lock.unlock() } -> std::same_as<void>;
};

template <class L>
concept lockable = basic_lockable<L> && requires(L lock) {
  { lock.try_lock() } -> std::same_as<bool>;
};

template <class L>
concept timed_lockable =
    lockable<L> && requires(L lock, std::chrono::minutes whole, std::chrono::duration<double> fraction,
                            std::chrono::steady_clock::time_point steady,
                            std::chrono::time_point<std::chrono::system_clock, std::chrono::hours> coarse) {
      { lock.try_lock_for(whole) } -> std::same_as<bool>;
      { lock.try_lock_for(fraction) } -> std::same_as<bool>;
      { lock.try_lock_until(steady) } -> std::same_as<bool>;
      { lock.try_lock_until(coarse) } -> std::same_as<bool>;
    };

template <class L>
concept shared_lockable = requires(L lock) {
  { lock.lock_shared() } -> std::same_as<void>;
  { lock.try_lock_shared() } -> std::same_as<bool>;
  { lock.unlock_shared() } -> std::same_as<void>;
};

template <class L>
concept shared_timed_lockable =
    shared_lockable<L> &&
    requires(L lock, std::chrono::minutes whole, std::chrono::duration<double> fraction,
             std::chrono::steady_clock::time_point steady,
             std::chrono::time_point<std::chrono::system_clock, std::chrono::hours> coarse) {
      { lock.try_lock_shared_for(whole) } -> std::same_as<bool>;
      { lock.try_lock_shared_for(fraction) } -> std::same_as<bool>;
      { lock.try_lock_shared_until(steady) } -> std::same_as<bool>;
      { lock.try_lock_shared_until(coarse) } -> std::same_as<bool>;
    };

template <class S>
concept counting =
    requires(S semaphore, std::chrono::milliseconds limit, std::chrono::steady_clock::time_point until) {
      { semaphore.acquire() } -> std::same_as<void>;
      { semaphore.try_acquire() } -> std::same_as<bool>;
      { semaphore.try_acquire_for(limit) } -> std::same_as<bool>;
      { semaphore.try_acquire_until(until) } -> std::same_as<bool>;
      { semaphore.release() } -> std::same_as<void>;
      { semaphore.release(std::ptrdiff_t{2}) } -> std::same_as<void>;
    };

/// A mutex type may be neither copied nor moved, so that whoever locked it finds it where it was.
template <class T>
concept stays_put = !std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T> &&
                    !std::is_copy_assignable_v<T> && !std::is_move_assignable_v<T>;

}  // namespace holdfast::test
