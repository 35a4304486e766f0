// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/candidate.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"
#include "holdfast/term.hpp"

namespace holdfast::detail {

/// One election on one client. Not for users: names and shapes here may change with any version.
class HOLDFAST_EXPORT election_handle {
 public:
  /// \throws holdfast::error errc::invalid_name.
  election_handle(client& locks, std::string_view name, const std::optional<lock_options>& options);
  ~election_handle();
  election_handle(const election_handle&) = delete;
  election_handle& operator=(const election_handle&) = delete;

  /// \param limit empty: as the options say; zero: do not wait.
  /// \return empty only when a request with a limit of its own was not granted within it, or was stopped.
  [[nodiscard]] std::optional<term> campaign(std::string_view value, std::optional<duration> limit,
                                             const std::stop_token& stop);
  pending async_campaign(std::string_view value, std::optional<duration> limit,
                         std::unique_ptr<completion> handler);

  [[nodiscard]] std::optional<candidate> leader() const;
  [[nodiscard]] std::vector<candidate> participants() const;
  /// \param with_standbys all participants, instead of the leader alone.
  pending async_participants(bool with_standbys, std::unique_ptr<completion> handler) const;
  [[nodiscard]] std::shared_ptr<void> observe(std::function<void(const observation&)> changed) const;
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  struct state;
  std::shared_ptr<const state> state_;
};

/// Starts `term.proclaim()` without waiting. The term comes back through the completion, after an error too.
HOLDFAST_EXPORT pending async_proclaim(term held, std::string_view value,
                                       std::unique_ptr<completion> handler);

}  // namespace holdfast::detail
