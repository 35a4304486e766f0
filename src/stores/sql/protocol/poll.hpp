// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/owner_id.hpp"
#include "stores/sql/protocol/call.hpp"
#include "stores/sql/protocol/rows.hpp"

namespace holdfast::sql {

/// What a client asks a server that sends it no notifications.
struct poll_question {
  struct place {
    std::string name;
    std::int64_t token;  // the first of the client's that wait for the name, or the token of a hold
  };
  owner_id client;
  std::vector<place> places;
  bool is_held = false;          // the places are holds: whether anybody asks their holders to release
  const std::vector<row>& seen;  // the rows of the answer before, of this kind
};

/// Returns the question as a call of a routine. Its rows are notifications: owner and token, see
/// `notification_of`.
using poll_maker = call (*)(const poll_question& of);

/// The largest number of names in one question: a server is busy with it for a few milliseconds at most.
inline constexpr std::size_t most_polled = 1024;

}  // namespace holdfast::sql
