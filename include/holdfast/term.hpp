// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "holdfast/boot_clock.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

namespace detail {
class term_access;
}  // namespace detail

/// The leadership of one candidate, from its election until it resigns or loses it. It is a lease, with a
/// value that others see: all that `lease` says of guarantee, loss, lifetime and threads holds here, too.
///
/// *A paused leader.* While `held()` answers true, no other client leads. Time passes between that answer and
/// an act: a process that is stopped in between may act after another leads. Pass `token()` to each resource
/// that a former leader must not change.
class HOLDFAST_EXPORT term {
 public:
  /// An inert term: it does not lead, and its `lost()` has fired.
  term() noexcept = default;

  /// Whether there is a term in the handle, held or lost.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(lease_); }
  /// Whether it leads now. Reads the clock: false from the deadline on.
  [[nodiscard]] bool held() const noexcept { return lease_.held(); }
  /// The fencing token: larger than those of all terms before, also when the term is lost. Zero for an inert
  /// one.
  [[nodiscard]] fencing_token token() const noexcept { return lease_.token(); }
  /// The time until which this process may believe that it leads. Each renewal moves it.
  [[nodiscard]] boot_clock::time_point deadline() const noexcept { return lease_.deadline(); }
  /// The time left until the deadline; zero when lost.
  [[nodiscard]] duration remaining() const noexcept { return lease_.remaining(); }
  /// The name of the election; empty for an inert term.
  [[nodiscard]] const std::string& name() const noexcept { return lease_.name(); }
  /// What others see of this leader: the value of its campaign, or the one that it proclaimed last. Not
  /// beside a call of `proclaim()`, which replaces it.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  /// Fires when the leadership is lost, at or before the deadline; never after `resign()`. See
  /// `lease::lost()` for the threads of stop callbacks.
  [[nodiscard]] std::stop_token lost() const noexcept { return lease_.lost(); }
  /// Why it was lost; empty while it is held, after `resign()`, and for an inert term.
  [[nodiscard]] std::optional<loss_reason> loss() const noexcept { return lease_.loss(); }
  /// Calls `action` once when the leadership is lost, as `lease::on_lost()`.
  /// \throws holdfast::error errc::invalid_argument if empty.
  /// \return its name for `remove_on_lost`; loss_callback{} when it was called at once.
  loss_callback on_lost(const std::function<void(std::error_code reason)>& action) {
    return lease_.on_lost(action);
  }
  /// Takes back a registration of `on_lost`, as `lease::remove_on_lost()`.
  /// \return whether it is not called any more.
  bool remove_on_lost(loss_callback callback) noexcept { return lease_.remove_on_lost(callback); }

  /// Fires when somebody asks this leader to resign, as `lease::release_requested()`.
  [[nodiscard]] std::stop_token release_requested() const { return lease_.release_requested(); }
  /// The reason of the first such request, as `lease::release_request()`.
  /// \return empty where nobody has asked.
  [[nodiscard]] std::optional<std::string> release_request() const { return lease_.release_request(); }

  /// Replaces the value that others see, and waits for the store's confirmation, until the deadline at most.
  /// Observers are called with the new one.
  /// \param value at most `election::longest_value` bytes, of any kind.
  /// \throws holdfast::error errc::invalid_argument for a value that is too long; errc::lost;
  ///         errc::unavailable, errc::permission_denied and other refusals of the store, when others see the
  ///         former value; errc::unknown_outcome, when they may see either, and may see the new one later;
  ///         errc::not_owner for an inert term; errc::closed. After an error `value()` is the former one.
  void proclaim(std::string_view value);
  /// Ends the term and waits for the store's confirmation, as `lease::release()` does. The next candidate
  /// leads at once. The term is inert afterwards in any case. The destructor resigns, too, without waiting.
  /// \return no error on success; errc::lost when it had ended before; errc::not_owner for an inert term;
  ///         errc::closed in a forked child; errc::unknown_outcome when the store could not be asked until
  ///         the ttl had surely ended it.
  std::error_code resign() noexcept { return lease_.release(); }
  /// Renews now, as `lease::renew()`. Needed only without `lock_options::renewal`.
  [[nodiscard]] renewal renew() noexcept { return lease_.renew(); }

 private:
  friend class detail::term_access;
  term(lease held, std::string value, std::shared_ptr<const std::string> metadata)
      : lease_{std::move(held)}, value_{std::move(value)}, metadata_{std::move(metadata)} {}

  // Not a base class: a term cannot be shared with readers, as a lease can by a downgrade.
  lease lease_;
  std::string value_;
  std::shared_ptr<const std::string> metadata_;  // of the claim, with the value
};

namespace detail {
/// Not for users.
class term_access {
 public:
  [[nodiscard]] static term make(lease held, std::string value, std::shared_ptr<const std::string> metadata) {
    return term{std::move(held), std::move(value), std::move(metadata)};
  }
  [[nodiscard]] static const std::shared_ptr<const std::string>& metadata_of(const term& of) {
    return of.metadata_;
  }
  [[nodiscard]] static const lease& lease_of(const term& of) { return of.lease_; }
  [[nodiscard]] static lease take(term&& from) { return std::move(from.lease_); }
};
}  // namespace detail

}  // namespace holdfast
