// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/owner_id.hpp"
#include "core/claim.hpp"
#include "core/request.hpp"

/// The requests to one of several servers, a majority of which has to grant, and its replies to each. The
/// other stores do not know them.
namespace holdfast::ballots {

/// The smallest number of servers that is more than half of them.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t servers) { return servers / 2 + 1; }

/// What is the same for all claims of a client.
struct voting_terms {
  std::vector<std::string> places{};  // of the servers
  duration silence{};                 // after so long without an answer a server counts as silent
  duration oldest{};      // a server accepts no number that is so much behind its clock; zero: any
  duration furthest{};    // nor one that is further ahead of its clock
  duration connecting{};  // so much longer may the first answers take
};

/// Claims, or keeps what it has: -> place, refused, other_capacity, paused; with the server's ballot.
struct vote {
  store::claim_ptr claim;
  fencing_token number;
  bool wait = false;
  std::uint64_t proof = 0;  // see tickets::acquire; of the place at this server
};
/// Gives way to a claim that goes first: -> place, nothing.
struct yield {
  store::hold hold;
  std::uint64_t grant = 0;  // its number
};
/// Proposes the token of the hold: -> place, nothing.
struct accept {
  store::hold hold;
};
/// Ends a claim with this number or a smaller one: -> done, nothing.
struct retract {
  store::hold hold;
  fencing_token last;
  bool met_foreign = false;  // one of the servers has told the claim of a holder of another library
};
/// Ends the hold of an owner by force, unless it has a larger number: -> count.
struct end_hold {
  std::string name;
  owner_id owner;
  fencing_token last;
};
/// As tickets::request_release, of the hold of an owner: its token there may be another: -> count.
struct ask_owner {
  std::string name;
  owner_id owner;
  std::string reason;
};

/// What is sent to one of the servers: these, and the requests to a server that decides alone.
using request = std::variant<tickets::request, vote, yield, accept, retract, end_hold, ask_owner>;

/// The request of that kind to a server that decides alone; null: it is another one.
template <class Kind>
[[nodiscard]] const Kind* get_if(const request& r) {
  const auto* const plain = std::get_if<tickets::request>(&r);
  return plain == nullptr ? nullptr : std::get_if<Kind>(plain);
}

// As those of tickets::request:
[[nodiscard]] bool is_release(const request& r);
[[nodiscard]] bool is_too_late(const request& r, store::time_point now);
[[nodiscard]] duration longest_ttl(const request& r);
[[nodiscard]] std::string_view name_of(const request& r);

}  // namespace holdfast::ballots
