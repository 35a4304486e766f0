// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "holdfast/boot_clock.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

namespace detail {
class set_access;
}  // namespace detail

/// Several leases that count as one: those of the names that a `lock_set` has acquired together, or leases of
/// any locks, clients and stores that were put together with `add()`.
///
/// *Loss.* The set is lost when the first of its leases is: `lost()` fires and `held()` answers false. The
/// other leases stay held, and are renewed, until the set is released, so that work on them can be ended in
/// order.
///
/// *Lifetime.* Movable, not copyable. The destructor releases all leases without waiting. It may outlive its
/// clients: closing one of them ends its leases. In a child after fork() it is inert.
///
/// *Threads.* Const members may be called from any thread at any time, the others from one thread at a time;
/// while `add()`, `release()` or an assignment runs, no other member. Only `release()` and `renew()` wait for
/// the store.
class HOLDFAST_EXPORT lease_set {
 public:
  /// An inert set: holds nothing, and its `lost()` has fired.
  lease_set() noexcept;
  /// Releases without waiting, as the destructor of a lease does.
  ~lease_set();
  /// The other one is inert afterwards.
  lease_set(lease_set&&) noexcept;
  /// Releases what this one held, as the destructor does.
  lease_set& operator=(lease_set&&) noexcept;
  lease_set(const lease_set&) = delete;
  lease_set& operator=(const lease_set&) = delete;

  /// Puts a lease, of any client and store, behind those that the set has. So a program whose fleet moves
  /// from one store to another holds a name on both: of the old store first, in all programs, then of the new
  /// one.
  ///
  ///     holdfast::lease_set held;
  ///     held.add(old_stock.acquire());
  ///     held.add(stock.acquire());
  ///
  /// If the second is not granted, what the set has by then is released with it. A lease that is lost already
  /// may be added; the set is lost then. Tokens that `lost()` and `release_requested()` gave before fire for
  /// the leases that are added, too, unless the set was inert. `leases()` and `lost_lease()` have to be
  /// called anew. The registrations of `lease::on_lost` stay. Does not wait for a store. If it throws, the
  /// set is as before, and the lease that was to be added is released without waiting.
  /// \throws holdfast::error errc::not_owner for an inert lease; errc::closed in a child after fork() for a
  ///         lease, or to a set, of the parent process.
  void add(lease later);
  /// As above, for all leases of another set, in their order. A token of `later.lost()` fires for the leases
  /// of `later` alone, as before.
  void add(lease_set later);

  /// Whether there are leases in it, held or lost.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Whether all of its leases are held now. Reads the clock.
  [[nodiscard]] bool held() const noexcept;
  /// The earliest deadline of its leases. The clock's epoch for an inert set.
  [[nodiscard]] boot_clock::time_point deadline() const noexcept;
  /// The time left until the deadline; zero when one of them is lost.
  [[nodiscard]] duration remaining() const noexcept;
  /// Fires when the first of the leases is lost, at or before the deadline; never after a release. Stop
  /// callbacks on it run where those of `lease::lost()` do, on the client of that lease.
  [[nodiscard]] std::stop_token lost() const noexcept;
  /// Fires when somebody asks the holder of one of the names to release, as `lease::release_requested()`.
  [[nodiscard]] std::stop_token release_requested() const;
  /// The reason of the request for the first of the names, in the order of `leases()`, that was asked for;
  /// see `lease::release_request()`. Each of the leases has its own.
  /// \return empty where nobody has asked.
  [[nodiscard]] std::optional<std::string> release_request() const;
  /// The first lease, in the order of `leases()`, that is lost: its name and the reason. Null while all are
  /// held, and for an inert set. Valid as long as the set, and until the next `add()`.
  [[nodiscard]] const lease* lost_lease() const noexcept;
  /// Each lease, in the order in which the lock_set was given its names, or in which they were added. Empty
  /// for an inert set.
  [[nodiscard]] std::span<const lease> leases() const noexcept;
  /// The fencing token of one name; also when it is lost. If there are several leases of that name, of
  /// several stores, it is the token of the first: `leases()` has the others. Tokens of different names, and
  /// of different stores, have nothing to do with one another: pass each to what that name protects.
  /// \throws holdfast::error errc::not_owner for a name that the set does not have.
  [[nodiscard]] fencing_token token(std::string_view name) const;

  /// Releases all of them and waits for the store's confirmations, as `lease::release()` does; the requests
  /// to one client are sent together. Leases of several clients that were added are released one client after
  /// the other, the last one first: whoever gets the first name finds the others free. Where a store does not
  /// answer, that delays the release of those before by up to a ttl. The set is inert afterwards in any case.
  /// \return no error on success; else errc::lost if one of them had ended before; else the first error, in
  ///         the order of `leases()`.
  std::error_code release() noexcept;
  /// Renews all of them now, as `lease::renew()`, one after the other. Needed only without
  /// `lock_options::renewal`.
  /// \return renewal::renewed when all were; else renewal::lost if one is lost; else renewal::unknown.
  [[nodiscard]] renewal renew() noexcept;

 private:
  friend class detail::set_access;
  struct state;
  explicit lease_set(std::vector<lease> leases);
  [[nodiscard]] bool is_ours() const noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace holdfast
