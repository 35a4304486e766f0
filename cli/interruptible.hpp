#pragma once

#include <functional>
#include <optional>

#include "signal_inbox.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Runs a call that may wait for the store, on a thread of its own, while signals and a limit are heeded.
/// Where one of these comes first, the client is closed, which ends the call: nothing can be asked of it any
/// more.
/// \param limit counted from now; without one only a signal ends the call early.
/// \return whether the call has ended by itself. \throws what it threw then.
[[nodiscard]] bool run_interruptibly(client& locks, const signal_inbox& signals,
                                     std::optional<duration> limit, const std::function<void()>& call);

}  // namespace holdfast::cli
