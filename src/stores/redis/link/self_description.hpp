#pragma once

#include <string>
#include <utility>

#include "stores/quorum/protocol/server_set.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// What one of several servers says of itself. An error to the question leaves the client unchecked there.
/// \param set the reply to GET of quorum_key. \param run the id of the server's process; empty: not told.
[[nodiscard]] inline quorum::self_description description_of(const value& set, std::string run) {
  quorum::self_description said;
  said.run = std::move(run);
  if (set.is(value::kind::text))
    said.set = set.text;
  else
    said.keeps_set = set.is(value::kind::null);
  return said;
}

}  // namespace holdfast::redis
