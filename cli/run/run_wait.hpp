#pragma once

#include <optional>

#include "claim.hpp"
#include "signal_inbox.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// How waiting for a claim ended: with a lease, with a signal that requests the end, or with neither,
/// because the time was up.
struct wait_result {
  std::optional<lease> held;
  std::optional<int> interrupted_by;
};

/// Waits on a thread of its own, so that signals are handled and the line on the terminal is updated. A wait
/// that is interrupted closes the client, which withdraws the claim from the queue.
[[nodiscard]] wait_result await_grant(client& locks, const claim& wish, signal_inbox& signals);

}  // namespace holdfast::cli
