// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <holdfast/client.hpp>

namespace holdfast::cli {

/// What a request to release has come to.
struct request_outcome {
  /// So many holders were asked. A hold that was released and rests (see lock_options::at_least) counts at
  /// the store, but nobody hears the request, so it does not count here. Of shared holds and permits the
  /// store does not know that they rest (see claimant::released): they count.
  std::size_t holders = 0;
  /// One of them; empty where the user may not look, or it has gone meanwhile.
  std::optional<claimant> one{};
  /// Of the holders, so many had been asked before; empty where the user may not look.
  std::optional<std::size_t> asked_before;
  /// All that were meant have been released: how long the last of them still rests.
  std::optional<duration> rest;
};

/// Asks the holders of a name to release it. The store has the reason of the last request: one without a
/// reason keeps a former one.
/// \param token of the one hold that is meant; empty: all of them.
/// \throws holdfast::error as client::request_release and client::inspect.
[[nodiscard]] request_outcome ask_to_release(const client& locks, const std::string& name,
                                             std::optional<fencing_token> token, const std::string& reason);

}  // namespace holdfast::cli
