// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"

namespace holdfast::zookeeper {

/// The data of Holdfast's nodes: one line for Holdfast, and the claimant in the format of every store.
/// Recipes that read nodes' data, as Curator's do, see text. Data that other libraries wrote is no note. A
/// note may follow other text, on a line of its own: the value of a candidate of an election.
struct note {
  std::int64_t permits = 0;   // of a semaphore; zero for other locks
  std::int64_t capacity = 0;  // likewise
  duration ttl{};
  fencing_token token;  // of a hold that was downgraded: the token of its former node, which it keeps
  std::string metadata;
};

[[nodiscard]] std::string to_text(const note& n);
[[nodiscard]] std::optional<note> read_note(std::string_view text);
/// What stands before the note, its line feed included; empty where there is no note.
[[nodiscard]] std::string_view before_note(std::string_view text);

/// Curator's Revoker replaces a holder's data by this, and its InterProcessMutex.makeRevocable listens for
/// exactly that. To a client of Holdfast the request comes in the metadata of its note, so that others still
/// read who holds. The holder writes its own data back, with the request.
inline constexpr std::string_view revoke_message = "__REVOKE__";
/// The reason of a request to release in the data of a holder's node, which may be empty text; nothing where
/// the data asks nothing.
[[nodiscard]] std::optional<std::string> request_in(std::string_view data);

}  // namespace holdfast::zookeeper
