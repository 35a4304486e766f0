// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/lease_set.hpp"
#include "holdfast/lock_spec.hpp"
#include "holdfast/options.hpp"

namespace holdfast::detail {

/// Several names on one client, and the holds that the standard's verbs keep in the lock object itself. Not
/// for users: names and shapes here may change with any version.
class HOLDFAST_EXPORT set_handle {
 public:
  /// \throws holdfast::error errc::invalid_name, errc::invalid_argument.
  set_handle(client& locks, std::vector<lock_spec> names, const std::optional<lock_options>& options);
  ~set_handle();
  set_handle(const set_handle&) = delete;
  set_handle& operator=(const set_handle&) = delete;

  /// \param limit empty: as the options say; zero: do not wait.
  /// \return empty only when a request with a limit of its own was not granted within it, or was stopped.
  [[nodiscard]] std::optional<lease_set> acquire(std::optional<duration> limit, const std::stop_token& stop);
  pending async_acquire(std::optional<duration> limit, std::unique_ptr<completion> handler);
  /// Acquires and keeps the leases in the handle. False as `acquire` is empty.
  bool lock(std::optional<duration> limit, const std::stop_token& stop);
  /// Releases the kept holds without waiting for the store.
  void unlock() noexcept;

  [[nodiscard]] fencing_token token(std::string_view name) const;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] std::stop_token release_requested() const;
  [[nodiscard]] bool held() const noexcept;
  [[nodiscard]] const std::vector<lock_spec>& names() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace holdfast::detail
