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

}  // namespace holdfast::zookeeper
