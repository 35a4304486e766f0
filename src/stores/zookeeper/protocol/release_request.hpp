#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stores/zookeeper/protocol/survey.hpp"

namespace holdfast::zookeeper {

// Requests to release, as the data of a holder's node. Curator's Revoker replaces the data by "__REVOKE__",
// and its InterProcessMutex.makeRevocable listens for exactly that. Where a client of Holdfast holds, the
// request stands in the metadata of its note, so that others still read who holds. The holder writes its own
// data back, with the request. Pure functions.

/// The data that asks a holder to release; empty where the holder has no means to hear it: kazoo's locks, and
/// Curator's latches and semaphores, for which the data has another meaning.
[[nodiscard]] std::optional<std::string> data_that_asks(const claimed& holder, std::string_view reason);

/// The reason in the data of a holder's node, which may be empty text; nothing where the data asks nothing.
[[nodiscard]] std::optional<std::string> request_in(std::string_view data);

}  // namespace holdfast::zookeeper
