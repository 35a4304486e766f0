// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/error.hpp"
#include "holdfast/export.hpp"
#include "holdfast/fencing_token.hpp"
#include "holdfast/options.hpp"
#include "holdfast/state.hpp"

namespace holdfast {

/// One that takes part in an election, as the store had it when it was asked. The client that takes part
/// chooses its value and its process, so never trust them.
struct candidate {
  bool leads = false;          ///< false: it stands by
  std::string value;           ///< any bytes; of a client of another library (on ZooKeeper) its text
  std::uint64_t revision = 0;  ///< how often the leader has replaced the value in its term
  fencing_token token;         ///< of the leader's term; on ZooKeeper also of a client of another library
  holdfast::claimant process;  ///< empty for a client of another library
  duration age{};  ///< since its term began, or since it stands by; on ZooKeeper since it stood by, also of
                   ///< the leader
  duration expires_in{};  ///< until it ends unless it is renewed
};

/// What an observer of an election has seen.
struct observation {
  std::optional<candidate> leader;  ///< empty: nobody leads; with an error the last one that was seen
  std::optional<error> failed;      ///< why the store cannot be asked now; empty where it has answered
};

}  // namespace holdfast
