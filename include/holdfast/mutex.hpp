// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "holdfast/client.hpp"
#include "holdfast/detail/locks.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

/// std::timed_mutex across processes, as far as the store reaches: one holder of a name at a time, first come
/// first served.
///
/// *Verbs.* They are alike on all lock types. The verbs of the standard's type of the same name keep the hold
/// in the object; the others return it as a lease. Each comes in five forms that block, and each that returns
/// a lease in four asynchronous ones, for any Boost.Asio completion token:
///
///     kept in the object       returned as a lease        asynchronous, <holdfast/async.hpp>
///     lock()                   acquire()                  async_acquire([token])
///     lock(stop)               acquire(stop)              cancellation by the token
///     try_lock()               try_acquire()              async_try_acquire([token])
///     try_lock_for(time)       try_acquire_for(time)      async_try_acquire_for(time [, token])
///     try_lock_until(end)      try_acquire_until(end)     async_try_acquire_until(end [, token])
///     unlock()                 lease::release()           async_release(lease [, token])
///
/// `shared_mutex` has the same verbs, and with `_shared` those of readers. `recursive_mutex` has the same
/// verbs. `counting_semaphore` has `acquire` as the standard's type has it, so its verb for leases is
/// `acquire_permits`. Timed forms that block take a std::stop_token as a last argument, too.
///
/// Meets TimedLockable. Ownership is this object, never a thread: any thread may unlock it. Two objects
/// for the same name exclude each other, in one process too; a second `lock()` on the same object waits
/// for its `unlock()`. Names are shared with `shared_mutex` and `recursive_mutex`, which exclude and are
/// excluded; a name in use as a semaphore fails with errc::wrong_type.
///
/// *Threads.* All members may be called from any thread at any time. The object must outlive all calls that
/// block; destroying it releases the hold that it keeps. It is neither copyable nor movable, as std::mutex. A
/// container keeps leases, which outlive the mutex: `mutex{locks, name}.acquire()`.
///
/// *Several at once.* std::scoped_lock locks any number of mutexes: it unlocks all of them and tries again
/// when one is not free. Name them in the same order everywhere. Threads that name them in opposite orders do
/// not deadlock, but may retry without a bound, as long as their steps take equally long. `shared_mutex` and
/// `recursive_mutex` behave alike.
///
/// *Loss.* A kept hold may be lost as any lease may (see `lease`): `lost()` and `held()` show it. The object
/// stays locked for its own users until `unlock()`, so that no user unlocks another's hold: unlock what is
/// lost, too. Other threads that lock the object wait for that; the thread that has locked it fails with
/// errc::lost, because it would wait for itself.
///
/// *Errors.* The acquiring functions throw holdfast::error: errc::unavailable or errc::unknown_outcome when
/// the store does not answer within the retry policy, or by the end of a shorter limit; errc::wrong_type,
/// errc::permission_denied, errc::foreign_store, errc::corrupt_store, errc::exhausted, errc::closed;
/// errc::lost after a loss without an unlock, as above, and when the answers to a grant took longer than the
/// ttl lasts, four times in turn (a try: twice); and errc::timeout from `lock()` and `acquire()` after a
/// `wait_limit`. Only a store that has answered the call makes it return empty, or with errc::timeout. A
/// claim that an abandoned attempt may have left at the store is withdrawn in the background.
class HOLDFAST_EXPORT mutex : public detail::exclusive_lock {
 public:
  /// Does not ask the store anything yet. The options are those of the client.
  /// \param locks the client; it may be closed or destroyed before the mutex, which then holds nothing.
  /// \param name 1 to 512 bytes of UTF-8 without control characters.
  /// \throws holdfast::error errc::invalid_name.
  mutex(client& locks, std::string_view name) : exclusive_lock{locks, name, std::nullopt} {}
  /// As above, with options of its own in place of the client's.
  mutex(client& locks, std::string_view name, const lock_options& options)
      : exclusive_lock{locks, name, options} {}
};

}  // namespace holdfast
