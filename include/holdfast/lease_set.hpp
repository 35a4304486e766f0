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

/// The leases of several names that were acquired together; see `lock_set`.
///
/// *Loss.* The set is lost when the first of its leases is: `lost()` fires and `held()` answers false. The
/// other leases stay held, and are renewed, until the set is released, so that work on them can be ended in
/// order.
///
/// *Lifetime.* Movable, not copyable. The destructor releases all leases without waiting. It may outlive its
/// client, whose closing ends the leases. In a child after fork() it is inert.
///
/// *Threads.* Const members may be called from any thread at any time, the others from one thread at a time.
/// Only `release()` and `renew()` wait for the store.
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

  /// Whether there are leases in it, held or lost.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Whether all of its leases are held now. Reads the clock.
  [[nodiscard]] bool held() const noexcept;
  /// The earliest deadline of its leases. The clock's epoch for an inert set.
  [[nodiscard]] boot_clock::time_point deadline() const noexcept;
  /// The time left until the deadline; zero when one of them is lost.
  [[nodiscard]] duration remaining() const noexcept;
  /// Fires when the first of the leases is lost, at or before the deadline; never after a release. Stop
  /// callbacks on it run where those of `lease::lost()` do.
  [[nodiscard]] std::stop_token lost() const noexcept;
  /// Fires when somebody asks the holder of one of the names to release, as `lease::release_requested()`.
  [[nodiscard]] std::stop_token release_requested() const;
  /// The reason of the request for the first of the names, in the order of `leases()`, that was asked for;
  /// see `lease::release_request()`. Each of the leases has its own.
  /// \return empty where nobody has asked.
  [[nodiscard]] std::optional<std::string> release_request() const;
  /// The first lease, in the order of `leases()`, that is lost: its name and the reason. Null while all are
  /// held, and for an inert set. Valid as long as the set.
  [[nodiscard]] const lease* lost_lease() const noexcept;
  /// Each lease, in the order in which the lock_set was given its names. Empty for an inert set.
  [[nodiscard]] std::span<const lease> leases() const noexcept;
  /// The fencing token of one name; also when it is lost. Tokens of different names have nothing to do with
  /// one another: pass each to what that name protects.
  /// \throws holdfast::error errc::not_owner for a name that the set does not have.
  [[nodiscard]] fencing_token token(std::string_view name) const;

  /// Releases all of them and waits for the store's confirmations, as `lease::release()` does; the requests
  /// are sent together. The set is inert afterwards in any case.
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
