#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/request.hpp"

namespace holdfast::quorum {

using store::time_point;

/// The smallest number of servers that is more than half of them.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t servers) { return servers / 2 + 1; }

/// Begins a reason with the place of its server. Without `places` it stays as it is.
void name_place(failure& reason, std::span<const std::string> places, std::size_t server);
/// The server has not answered within the time limit.
[[nodiscard]] store::request_error no_answer_of(std::span<const std::string> places, std::size_t server);

/// The machine of one claim on several servers, from its first request until it is withdrawn.
///
/// The claim has one number on all servers: its place in their queues, and its fencing token if they accept
/// it. It holds when a majority has granted, each within the ttl that began when the request was sent, and a
/// majority accepted the same token. Where another claim goes first at a server that has granted this one,
/// and there is no majority that may accept one token, the machine gives that grant back (yield), and counts
/// nothing of the server until it has answered. Else claims that have split the votes would wait for each
/// other for ever.
/// (M. Maekawa, "A sqrt(N) algorithm for mutual exclusion in decentralized systems", 1985; B. Sanders, "The
/// information structure of distributed mutual exclusion algorithms", 1987.)
///
/// At most one request to a server is under way, so that answers come in the order of the requests.
/// Notifications are hints: they make it ask that server.
class contender {
 public:
  struct order {
    std::size_t server = 0;
    tickets::request request;
  };
  struct step {
    std::vector<order> send;
    std::optional<tickets::link::outcome> answer;  // to `ask`
    bool is_won = false;                           // it holds, and nobody has asked: say so
    bool should_look = false;  // it waits, and the caller has to ask more often than it knows
    bool is_over = false;      // refused: withdraw it from all servers
    std::optional<time_point> wake_at;
  };

  /// What is the same for all claims of a client.
  struct terms {
    std::size_t servers = 0;
    duration silence{};   // after so long without an answer a server counts as silent
    duration oldest{};    // a server accepts no number that is so much behind its clock; zero: any
    duration furthest{};  // nor one that is further ahead of its clock
    std::span<const std::string> places{};  // of the servers, for errors; longer-lived than the machine
  };

  /// \param claim with its number as token.
  contender(tickets::request claim, const terms& of);

  /// The caller wants to know where the claim stands. Answered once.
  [[nodiscard]] step ask(time_point now);
  /// The outcome of the last request to a server.
  [[nodiscard]] step hear(time_point now, std::size_t server, const tickets::link::outcome& came);
  /// A server may have granted the claim, or wants to grant another one first.
  [[nodiscard]] step hint(time_point now, std::size_t server);
  /// A server may have ended the claim by force. What it has granted counts again when it says so.
  [[nodiscard]] step doubt(time_point now, std::size_t server);
  [[nodiscard]] step wake(time_point now);

  /// Whether the caller knows that it holds.
  [[nodiscard]] bool holds() const { return holds_; }
  /// Whether a hold of the owner at the server is a vote for this claim. Until the server has given this
  /// claim a place, it may be the hold of a former claim; and a grant that is being given back may end at any
  /// time.
  [[nodiscard]] bool counts_at(std::size_t server) const {
    return seats_.at(server).knows_claim && !seats_.at(server).yielding;
  }
  /// The claim holds, and a server does not have it: claims it there.
  [[nodiscard]] step spread(time_point now, std::size_t server);
  /// The claim holds, and a server has kept it. Where that server has accepted another number than the token,
  /// or none, this has the token written beside the hold: who looks has to find one token, also when few of
  /// the servers are left that accepted it.
  [[nodiscard]] step tell_token(time_point now, std::size_t server);
  /// A server's process may be another one, which may have forgotten what was told to it last.
  void restarted(std::size_t server);
  /// From exclusive to shared.
  void lower() { claim_.weight = 1; }
  /// \return what is to be written at the servers: of a hold it has the token.
  std::shared_ptr<const std::string> annotate(std::shared_ptr<const std::string> metadata);
  [[nodiscard]] const tickets::request& claim() const { return claim_; }
  /// Whether a server has named a holder of another library.
  [[nodiscard]] bool has_met_foreign() const { return has_met_foreign_; }
  [[nodiscard]] fencing_token token() const { return proposed_ ? proposed_ : claim_.token; }

 private:
  /// What the claim knows of one server.
  struct seat {
    time_point sent;   // the last request
    time_point since;  // the grant counts from then
    fencing_token accepted;
    fencing_token fence;
    std::chrono::microseconds clock{};  // of the server, at `since` or later
    std::uint64_t grant = 0;
    std::optional<std::uint64_t> yielding;  // the number of the grant that it gives back
    std::optional<std::int64_t> capacity;   // it is in use with that one
    std::optional<duration> holder_left;
    std::string blocker;
    std::optional<failure> pause;
    std::optional<store::request_error> problem;  // since the caller has asked

    bool in_flight = false;
    tickets::ballot_step sent_step{};
    bool again = false;          // something has happened there meanwhile
    bool is_told_token = false;  // it stands there beside the hold
    bool has_restarted = false;  // since it said last what it has accepted
    bool knows_claim = false;    // it has given it a place
    bool granted = false;
    bool refuses = false;   // the last proposal, though it is above the fence
    bool answered = false;  // since the caller has asked
    bool head = false;
    bool silent = false;
  };

  void take(seat& of, const tickets::reply& reply);
  void take_place(seat& of, const tickets::place& at);
  void send(step& s, time_point now, std::size_t server, tickets::ballot_step kind);
  void claim_at(step& s, time_point now, std::size_t server);
  void tell_token_at(step& s, time_point now, std::size_t server);
  void consider(step& s, time_point now);
  void propose(step& s, time_point now);
  [[nodiscard]] std::optional<fencing_token> next_proposal(time_point now) const;
  [[nodiscard]] static std::chrono::microseconds clock_of(const seat& of, time_point now);
  [[nodiscard]] bool can_accept(const seat& of, fencing_token token, time_point now) const;
  void conclude(step& s, time_point now);
  void conclude_try(step& s, time_point now);
  void resolve_split(step& s, time_point now);
  [[nodiscard]] bool is_proposing(time_point now) const;
  [[nodiscard]] bool may_win(time_point now) const;
  [[nodiscard]] bool is_news(time_point now) const;
  void refuse(step& s);
  [[nodiscard]] bool is_valid(const seat& of, time_point now) const;
  [[nodiscard]] std::size_t votes(time_point now) const;
  [[nodiscard]] std::optional<time_point> won_since(time_point now) const;
  [[nodiscard]] bool has_common_blocker() const;
  [[nodiscard]] tickets::place standing_at(time_point now) const;
  [[nodiscard]] bool is_refused_for_good() const;
  [[nodiscard]] std::string refusals_by_clock(time_point now) const;
  [[nodiscard]] store::request_error problem(time_point now) const;
  [[nodiscard]] std::optional<time_point> next_wake(time_point now) const;

  template <class Predicate>
  [[nodiscard]] std::size_t count(Predicate is_meant) const {
    return static_cast<std::size_t>(std::count_if(seats_.begin(), seats_.end(), is_meant));
  }

  static constexpr duration yield_again = std::chrono::milliseconds{200};  // one that has failed

  tickets::request claim_;
  const std::size_t majority_;
  const duration silence_;
  const duration oldest_;
  const duration furthest_;
  const std::span<const std::string> places_;
  std::vector<seat> seats_;
  fencing_token proposed_;  // zero: the claim's number
  bool is_asked_ = false;   // and the caller has no answer yet
  time_point asked_at_;
  bool holds_ = false;
  std::optional<tickets::place> reported_;  // to the caller: where it waits
  time_point reported_at_;
  bool has_met_foreign_ = false;
  bool was_won_ = false;   // and the caller was notified
  bool is_split_ = false;  // it does not wait, but for as long as the votes are split
};

}  // namespace holdfast::quorum
