#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "core/single_flight.hpp"

namespace holdfast::quorum {

using store::time_point;

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

/// What a claim knows of one server.
struct server_vote {
  enum class standing : std::uint8_t {
    unknown,   // the server has given the claim no place yet: what it has may be a former claim of the owner
    waiting,   // nothing is granted, by what the server has said
    granted,   // a vote for one ttl
    yielding,  // the grant is being given back: it counts no more, and may end at any time
  };
  /// How whoever looks at the server finds the token of the hold.
  enum class shown_token : std::uint8_t {
    accepted,  // it shows what it has accepted
    written,   // the token stands beside the hold
    unsure,    // its process may be another one, which may have forgotten either
  };

  /// The caller asks anew.
  void forget_answers();
  /// The server has answered a request that is not about the token beside the hold. \param token of the
  /// claim.
  void take(const tickets::reply& reply, fencing_token token);
  void lose_grant() {
    if (at != standing::unknown) at = standing::waiting;
  }
  [[nodiscard]] bool is_valid(time_point now, duration ttl) const {
    return at == standing::granted && since + ttl > now;
  }
  /// The server's clock is no further than that.
  [[nodiscard]] std::chrono::microseconds clock_at(time_point now) const;
  /// Whether the server may accept the token. \pre is_valid
  [[nodiscard]] bool can_accept(fencing_token token, time_point now, const voting_terms& of) const;
  [[nodiscard]] bool shows(fencing_token token) const {
    return shown == shown_token::written || (shown == shown_token::accepted && ballot.accepted == token);
  }

  enum class request : std::uint8_t { vote, yield, accept, annotate };

  store::single_flight requests;
  request last_request{};
  time_point sent;
  standing at = standing::unknown;
  shown_token shown = shown_token::accepted;
  time_point since;        // the ttl of the grant runs from then; `ballot.clock` was read at `since` or later
  tickets::ballot ballot;  // as of the last answer that had one
  bool head = false;
  bool silent = false;
  std::optional<duration> holder_left;
  bool refuses = false;  // the last proposal, although it is above the fence

  // Since the caller has asked:
  bool answered = false;
  std::optional<store::request_error> problem;  // of the last request
  std::optional<failure> pause;
  std::optional<std::int64_t> capacity;  // the name is in use with that one

 private:
  void take_place(const tickets::place& place, fencing_token token);
};

}  // namespace holdfast::quorum
