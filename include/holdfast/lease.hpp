// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

#include "holdfast/boot_clock.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

namespace detail {
class lease_record;
class lease_access;
}  // namespace detail

/// The result of `lease::renew()`.
enum class renewal : std::uint8_t {
  renewed,  ///< the store confirmed it; the deadline moved
  lost,     ///< the store no longer has it, or the deadline passed first
  unknown,  ///< no answer; the lease is held until its unchanged deadline, and the keeper goes on trying
};

/// "renewed", "lost" or "unknown".
[[nodiscard]] HOLDFAST_EXPORT std::string_view to_string(renewal result) noexcept;

/// Why a lease was lost. A log should have it beside the loss.
enum class loss_reason : std::uint8_t {
  ended_at_store,  ///< the store no longer has it: it was released by force, its ttl ended there, or the
                   ///< store lost it
  not_renewed,     ///< no renewal was confirmed before the deadline
  session_ended,   ///< the client's session, with which the lease ends, was not confirmed before the
                   ///< deadline (ZooKeeper, `mode=session`)
  client_closed,   ///< the client was closed, or destroyed
};

/// Its name: "ended_at_store", "not_renewed", "session_ended" or "client_closed".
[[nodiscard]] HOLDFAST_EXPORT std::string_view to_string(loss_reason reason) noexcept;

/// Names one registration of `lease::on_lost`.
enum class loss_callback : std::uint64_t {};

/// A granted claim, with a token, a deadline and a loss signal.
///
/// *Guarantee.* While `held()` answers true, no other client holds a conflicting grant of the name, under
/// the conditions that the store's page in docs/stores lists. Time passes between that answer and the act, so
/// pass `token()` to each resource that a late holder must not change.
///
/// *Loss.* `lost()` fires at or before `deadline()`, as far as the machine lets the process run then: when
/// the store says that the lease is gone, when the deadline passes without a confirmed renewal, or when the
/// client is closed. A lost lease stays lost. `held()` compares the clock itself, so it may answer false a
/// moment before `lost()` fires and `loss()` has a reason.
///
/// *Lifetime.* Movable, not copyable; the destructor releases without waiting, as `mutex::unlock()` does.
/// It may outlive its client, whose closing ends it. In a child after fork() it is inert: it is not held,
/// and destroying it does nothing.
///
/// *Threads.* Const members may be called from any thread at any time, the others from one thread at a time.
/// Only `release()`, `renew()` and `downgrade()` wait for the store.
class HOLDFAST_EXPORT lease {
 public:
  /// An inert lease: holds nothing, and its `lost()` has fired.
  lease() noexcept;
  /// Releases without waiting: the release is sent, and retried in the background until the store confirms it
  /// or the lease has ended.
  ~lease();
  /// The other one is inert afterwards.
  lease(lease&&) noexcept;
  /// Releases what this one held, as the destructor does.
  lease& operator=(lease&&) noexcept;
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;

  /// Whether there is a lease in the handle, held or lost.
  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }
  /// Whether it is held now. Reads the clock: false from the deadline on, however busy the process was.
  [[nodiscard]] bool held() const noexcept;
  /// The fencing token; also of a lost lease. Zero for an inert one.
  [[nodiscard]] fencing_token token() const noexcept;
  /// The time until which this process may rely on its hold. Each renewal moves it. The clock's epoch for an
  /// inert lease.
  [[nodiscard]] boot_clock::time_point deadline() const noexcept;
  /// The time left until the deadline; zero when lost.
  [[nodiscard]] duration remaining() const noexcept;
  /// The name that is held; empty for an inert lease.
  [[nodiscard]] const std::string& name() const noexcept;
  /// How it is held; mode::shared after a downgrade.
  [[nodiscard]] holdfast::mode mode() const noexcept;
  /// Permits held; 1 for the other modes, 0 for an inert lease.
  [[nodiscard]] std::int64_t permits() const noexcept;
  /// Fires when the lease is lost, at or before the deadline; never after a release. Stop callbacks on it run
  /// on the client's thread for signals, one after another and under none of its locks, and should be short:
  /// one that blocks delays later signals and completions of this client, but neither `held()`, deadlines,
  /// renewals nor calls. It may call blocking functions of the library, and must not wait for the completion
  /// of an asynchronous one. Use `on_lost` for work that takes long.
  [[nodiscard]] std::stop_token lost() const noexcept;
  /// Why the lease was lost; empty while it is held, after a release, and for an inert lease. Set before
  /// `lost()` fires. The store does not say which client ended a lease, or whether it was force.
  [[nodiscard]] std::optional<loss_reason> loss() const noexcept;
  /// Calls `action` once when the lease is lost, with the reason (errc::lost, errc::closed), after `lost()`
  /// has fired; at once, on this thread, when that has already happened. Not called after a release. Runs on
  /// the client's thread for callbacks, one at a time and under none of its locks: one that blocks delays
  /// other callbacks of `on_lost` and `client::watch`, and nothing else. An exception that it throws ends the
  /// process.
  /// \throws holdfast::error errc::invalid_argument if empty.
  /// \return its name for `remove_on_lost`; loss_callback{} when it was called at once.
  loss_callback on_lost(const std::function<void(std::error_code reason)>& action);
  /// Takes back a registration of `on_lost`. Does not wait for a callback that runs; the destructor of a
  /// std::stop_callback on `lost()` does.
  /// \return true: it is not called any more. False: it has been called, or is about to be because the lease
  ///         is lost, or was not registered with this lease.
  bool remove_on_lost(loss_callback callback) noexcept;

  /// Fires when somebody asks this holder to release, with `client::request_release()` or, on ZooKeeper, with
  /// Curator's `Revoker`. A request changes nothing: the lease stays held until its holder releases it. It
  /// may be lost where this client is not connected. Fires at most once. Stop callbacks run where those of
  /// `lost()` do.
  /// \return a token that never fires for an inert lease, after the client has gone, and in a child after
  ///         fork().
  [[nodiscard]] std::stop_token release_requested() const;
  /// The reason of the first request to release, as its sender wrote it: never trust it. Empty text where it
  /// gave none.
  /// \return empty where nobody has asked, for an inert lease, after the client has gone, and in a child
  ///         after fork().
  [[nodiscard]] std::optional<std::string> release_request() const;

  /// Releases the lock and waits for the store's confirmation. Retries until the ttl has surely ended the
  /// hold, which takes one ttl after the deadline at most. Sooner than `lock_options::at_least` the store
  /// keeps the name, and confirms that. The lease is inert afterwards in any case.
  /// \return no error on success; errc::lost when it had ended before; errc::not_owner for an inert lease;
  ///         errc::closed in a forked child; errc::unknown_outcome when the store could not be asked until
  ///         the ttl had surely ended it.
  std::error_code release() noexcept;
  /// Renews now, for one more ttl, and waits for the store's answer until the deadline at most. Needed only
  /// without `lock_options::renewal`.
  [[nodiscard]] renewal renew() noexcept;
  /// Changes the hold from exclusive to shared without releasing it: readers that are queued next are
  /// granted, and no writer in between. The token stays. Of a lease that is already shared: nothing happens.
  /// Waits for the store, until the deadline at most.
  /// \throws holdfast::error errc::lost; errc::unavailable, when it is exclusive still;
  ///         errc::unknown_outcome, when it counts as shared from then on; errc::wrong_type for permits;
  ///         errc::not_owner for an inert lease; errc::closed.
  void downgrade();

 private:
  friend class detail::lease_access;
  explicit lease(std::shared_ptr<detail::lease_record> record) noexcept;
  std::shared_ptr<detail::lease_record> record_;
};

}  // namespace holdfast
