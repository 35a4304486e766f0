// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "signal_inbox.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Runs a call that may wait for the store, on a thread of its own. A signal or the limit ends the call by
/// closing the client, which cannot be used afterwards.
/// \param limit counted from now; without one only a signal ends the call early.
/// \return whether the call has ended by itself. \throws the call's exception.
[[nodiscard]] bool run_interruptibly(client& locks, const signal_inbox& signals,
                                     std::optional<duration> limit, const std::function<void()>& call);

}  // namespace holdfast::cli
