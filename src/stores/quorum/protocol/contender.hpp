// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"
#include "core/single_flight.hpp"
#include "stores/quorum/protocol/ballots.hpp"

namespace holdfast::quorum {

using ballots::majority_of;
using ballots::voting_terms;
using store::time_point;

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
  /// Whether a notification proves a grant. \param number of the claim.
  [[nodiscard]] bool proves(const store::notification& n, fencing_token number) const {
    const bool is_of_place = n.kind == store::notification_kind::granted && n.token == number && n.grant != 0;
    const bool is_proven = proof != 0 && n.proof == proof && n.position.is_behind(answered_at);
    return at == standing::waiting && !requests.is_in_flight() && is_of_place && is_proven;
  }
  /// The grant is later than the last answer, so its ttl runs from then at least.
  void take_proven(const store::notification& n);
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
  bool refuses = false;     // the last proposal, although it is above the fence
  std::uint64_t proof = 0;  // of the place there: used once; zero: the server's notifications are hints
  store::stream_position answered_at;  // the last answer about the place

  // Since the caller has asked:
  bool answered = false;
  std::optional<store::request_error> problem;  // of the last request
  std::optional<failure> pause;
  std::optional<std::int64_t> capacity;  // the name is in use with that one

 private:
  void take_place(const tickets::place& place, fencing_token token);
};

/// The machine of one claim on several servers, from its first request until it is withdrawn.
///
/// The claim has one number on all servers: its place in their queues, and its fencing token if they accept
/// it. It holds when a majority has granted, each within the ttl that began when the request was sent, and a
/// majority accepted the same token. If another claim goes first at a server that has granted this one, and
/// there is no majority that may accept one token, the machine gives that grant back (yield), and counts
/// nothing of the server until it has answered. Else claims that have split the votes would wait for each
/// other for ever.
/// (M. Maekawa, "A sqrt(N) algorithm for mutual exclusion in decentralized systems", 1985; B. Sanders, "The
/// information structure of distributed mutual exclusion algorithms", 1987.)
///
/// At most one request to a server is in flight, so that answers come in the order of the requests.
/// Notifications are hints: they make it ask that server. But the first grant of a place there may come with
/// a proof, the secret that the claim has brought to this server alone, and is the vote then: see
/// tickets::acquisition.
class contender {
 public:
  struct order {
    std::size_t server = 0;
    ballots::request request;
  };
  struct step {
    std::vector<order> send;
    std::optional<tickets::link::outcome> answer;  // to `ask`
    bool is_won = false;                           // it holds, and nobody has asked: say so
    bool should_look = false;  // it waits, and the caller has to ask more often than it knows
    bool is_over = false;      // refused: withdraw it from all servers
    std::optional<time_point> wake_at;
  };

  /// \param number of the claim. \param of longer-lived than the machine.
  contender(store::claim_ptr claim, fencing_token number, const voting_terms& of)
      : claim_{std::move(claim)},
        number_{number},
        terms_{of},
        majority_{majority_of(of.places.size())},
        votes_(of.places.size()) {}

  /// \param secrets the proofs of its places, one for each server; unpredictable.
  void prove_by(const std::vector<std::uint64_t>& secrets);
  /// The caller wants to know where the claim stands. Answered once.
  [[nodiscard]] step ask(time_point now);
  /// The outcome of the last request to a server.
  [[nodiscard]] step on_reply(time_point now, std::size_t server, const tickets::link::outcome& came);
  /// A grant with a proof is a vote. Any other notification makes the claim ask that server, and after an end
  /// by force what the server has granted counts again when it says so.
  [[nodiscard]] step on_notification(time_point now, std::size_t server, const store::notification& n);
  [[nodiscard]] step wake(time_point now);

  /// Whether the caller knows that it holds.
  [[nodiscard]] bool holds() const { return state_ == state::held; }
  /// Whether a hold of the owner at the server is a vote for this claim.
  [[nodiscard]] bool counts_at(std::size_t server) const {
    const auto at = votes_.at(server).at;
    return at == server_vote::standing::waiting || at == server_vote::standing::granted;
  }
  /// The claim holds, and a server does not have it: claims it there.
  [[nodiscard]] step claim_at_missing(time_point now, std::size_t server);
  /// The claim holds, and a server has kept it. If that server has accepted another number than the token, or
  /// none, this has the token written beside the hold: whoever looks has to find one token, also when few of
  /// the servers are left that accepted it.
  [[nodiscard]] step tell_token(time_point now, std::size_t server);
  /// A server's process may be another one, which may have forgotten what was told to it last.
  void restarted(std::size_t server) { votes_.at(server).shown = server_vote::shown_token::unsure; }
  /// From exclusive to shared.
  void lower() {
    auto lowered = *claim_;
    lowered.mode = mode::shared;
    claim_ = std::make_shared<const store::claim>(std::move(lowered));
  }
  /// \return what is to be written at the servers: the metadata of a hold contain the token.
  std::shared_ptr<const std::string> annotate(std::shared_ptr<const std::string> metadata);
  [[nodiscard]] store::hold hold() const { return hold_of(*claim_, number_); }
  /// Whether a server has named a holder of another library.
  [[nodiscard]] bool has_met_foreign() const { return has_met_foreign_; }
  [[nodiscard]] fencing_token token() const { return proposed_ ? proposed_ : number_; }

 private:
  enum class state : std::uint8_t {
    idle,      // the caller has its answer, or was notified to ask
    deciding,  // the caller waits for an answer
    won,       // it holds by what the servers have said, and the caller was notified
    held,      // the caller knows that it holds
  };

  void send(step& s, time_point now, std::size_t server, server_vote::request which);
  void claim_at(step& s, time_point now, std::size_t server);
  void tell_token_at(step& s, time_point now, std::size_t server);
  void consider(step& s, time_point now);
  void propose(step& s, time_point now);
  [[nodiscard]] std::optional<fencing_token> next_proposal(time_point now) const;
  void conclude(step& s, time_point now);
  void conclude_try(step& s, time_point now);
  void answer(step& s, tickets::link::outcome outcome);
  void refuse(step& s);
  void resolve_split(step& s, time_point now);
  [[nodiscard]] std::size_t votes(time_point now) const;
  [[nodiscard]] std::optional<time_point> won_since(time_point now) const;
  [[nodiscard]] bool may_win(time_point now) const;
  [[nodiscard]] bool is_proposing(time_point now) const;
  [[nodiscard]] std::size_t acceptors(fencing_token token, time_point now) const;
  [[nodiscard]] bool is_news(time_point now) const;
  [[nodiscard]] bool has_common_blocker() const;
  [[nodiscard]] tickets::place standing_at(time_point now) const;
  [[nodiscard]] store::request_error problem(time_point now) const;
  [[nodiscard]] std::string refusals_by_clock(time_point now) const;
  [[nodiscard]] std::optional<time_point> next_wake(time_point now) const;

  /// So many servers may be missing.
  [[nodiscard]] std::size_t spare() const { return votes_.size() - majority_; }
  template <class Predicate>
  [[nodiscard]] std::size_t count(Predicate is_meant) const {
    return static_cast<std::size_t>(std::count_if(votes_.begin(), votes_.end(), is_meant));
  }

  store::claim_ptr claim_;
  const fencing_token number_;
  const duration ttl_ = store_ttl(*claim_);
  const voting_terms& terms_;
  const std::size_t majority_;
  std::vector<server_vote> votes_;
  state state_ = state::idle;
  fencing_token proposed_;  // zero: the claim's number
  time_point asked_at_;
  std::optional<tickets::place> reported_;  // to the caller: where it waits
  time_point reported_at_;
  bool has_met_foreign_ = false;
  bool is_split_ = false;  // it does not wait, but for as long as the votes are split
};

}  // namespace holdfast::quorum
