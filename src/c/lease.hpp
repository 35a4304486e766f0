// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "api/access.hpp"
#include "c/guard.hpp"
#include "c/wakeup.hpp"
#include "holdfast/lease_set.hpp"
#include "holdfast/term.hpp"

// A lease of <holdfast/holdfast.h>, for the sources that make it and those that use it.

namespace holdfast::c {

using any_hold = std::variant<lease, lease_set, term>;

}  // namespace holdfast::c

/// A release takes the hold away, and releases it by its records: a call of another thread may still use it.
struct holdfast_lease : holdfast::c::owned {
  explicit holdfast_lease(holdfast::c::any_hold granted);

  /// In the order of the request. They have the names and the tokens, also after a release.
  [[nodiscard]] const std::vector<holdfast::lease_core::lease_record_ptr>& records() const noexcept {
    return records_;
  }
  [[nodiscard]] const std::string& name() const { return records_.front()->hold.name; }
  /// "cannot renew 'a' and the other names on redis://localhost", for errors.
  [[nodiscard]] std::string refusal(const char* attempt) const;
  /// The error of an attempt that ended with that code.
  [[nodiscard]] holdfast::error refused(const char* attempt, std::error_code code) const;

  /// Null after a release.
  [[nodiscard]] std::shared_ptr<holdfast::c::any_hold> hold() const {
    const std::lock_guard held{mutex_};
    return hold_;
  }
  /// \throws holdfast::error errc::not_owner after a release, errc::closed in a child.
  [[nodiscard]] std::shared_ptr<holdfast::c::any_hold> required_hold() const;
  /// From now on it counts as released. \throws as above.
  [[nodiscard]] std::shared_ptr<holdfast::c::any_hold> take();

  std::mutex changing;  // C++ renews, downgrades and proclaims from one thread at a time
  holdfast::c::stop_descriptor lost;
  holdfast::c::stop_descriptor release_requested;

 private:
  [[nodiscard]] holdfast::error released_already() const;

  const std::vector<holdfast::lease_core::lease_record_ptr> records_;
  mutable std::mutex mutex_;
  std::shared_ptr<holdfast::c::any_hold> hold_;
};
