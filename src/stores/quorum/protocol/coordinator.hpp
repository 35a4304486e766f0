#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/notification.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "stores/quorum/protocol/contender.hpp"
#include "stores/quorum/protocol/place_in_time.hpp"
#include "stores/quorum/protocol/server_set.hpp"

namespace holdfast::quorum {

/// Carries the requests of a client to several servers, and answers with what a majority of them says. All
/// of it under the core lock. The link and the simulator run the same coordinator.
///
/// Nothing waits for a server that does not answer: it costs its vote. A claim, a renewal and a release are
/// answered by the first majority. A release is sent to all servers until each has confirmed it, or its ttl
/// has ended it there.
class coordinator {
 public:
  using outcome = tickets::link::outcome;
  using on_reply = tickets::link::on_reply;

  struct settings {
    std::size_t servers = 0;
    duration silence{};                 // after so long without an answer a server counts as silent
    std::vector<std::string> places{};  // of the servers, for errors
    duration connecting{};              // so much longer may the first answers take
    duration oldest{};                  // see voting_terms
    duration furthest{};                // as well
  };
  /// What it needs of the link.
  struct uses {
    /// Requests to one server are carried out in the order of sending. Answers later, always.
    std::function<void(std::size_t server, tickets::request, on_reply)> send;
    /// Calls it under the core lock, after the call that asks for it.
    std::function<void(std::function<void()>)> soon;
    /// Of a claim.
    std::function<void(const store::notification&)> notify;
    /// Writes the set of the servers at one that keeps none, and has `joined` called, or `not_joined`. Before
    /// the requests that are sent afterwards. Null: the servers keep no sets.
    std::function<void(std::size_t server, const std::string& set)> join{};
    /// Deletes the set at a server where it still is this one. Nobody hears whether it was.
    std::function<void(std::size_t server, const std::string& set)> leave{};
  };

  coordinator(store::scheduler& on, const settings& of, uses link);
  ~coordinator();
  coordinator(const coordinator&) = delete;
  coordinator& operator=(const coordinator&) = delete;

  /// See store::link. Always answers: within the silence, or the time to connect before a majority has ever
  /// answered. A listing goes on while parts of it come.
  void send(tickets::request request, on_reply done);
  /// What a server says of itself: on each connection, before any request is sent over it. Where it keeps
  /// another set of servers, or is another one of these servers, claims are refused from now on, and those
  /// that wait end. A hold stays: it excludes all clients of its own set, and ends as it would have anyway.
  /// \return why that server is not to be used.
  std::optional<failure> meet(std::size_t server, const self_description& said);
  /// What a server keeps after `uses::join`. A client that has claimed nothing yet, and is refused now, takes
  /// back what it wrote: two clients of different sets may have begun at once.
  /// \param wrote it is this client that has written it. \return as `meet`.
  std::optional<failure> joined(std::size_t server, self_description said, bool wrote);
  /// The server has not carried out `uses::join`, or nobody knows: it is done again a little later, a few
  /// times on each connection. Claims do not wait for that.
  void not_joined(std::size_t server);
  /// The connection after `meet` is in use.
  void connected(std::size_t server);
  /// A server cannot be reached.
  void miss(std::size_t server);
  /// A notification of one of the servers.
  void hear(std::size_t server, const store::notification& n);
  /// Calls it when each release and withdrawal has been answered by every server that answers at all: a
  /// majority is enough for the caller, and what the others keep is in everybody's way until its ttl ends. A
  /// server that is silent is waited for as long as for any other answer.
  void when_delivered(std::function<void()> action);
  /// Nothing is sent or answered afterwards.
  void stop();

 private:
  struct claimed;
  struct round;
  struct farewell;
  struct delivery;
  using claim_ptr = std::shared_ptr<claimed>;
  using outcomes = std::vector<std::optional<outcome>>;

  void dispatch(tickets::request request, on_reply done);
  void claim(tickets::request request, on_reply done);
  void begin_claim(tickets::request request, on_reply done);
  void ask_for_time();
  void hear_time(std::size_t server, const outcome& o);
  void go_on_without_time();
  void begin_parked();
  void get_acquainted();
  void await_servers();
  void take_back();
  void refuse_claims(const failure& reason);
  void refuse(const claim_ptr& c, const failure& reason);
  void carry_out(const claim_ptr& c, contender::step s);
  void send_order(const claim_ptr& c, contender::order o);

  void renew(const tickets::request& batch, on_reply done);
  void rest(const tickets::request& last, on_reply done);
  [[nodiscard]] bool has_claimed_again(const farewell& f) const;
  void withdraw_at(std::size_t server, const std::shared_ptr<farewell>& f);
  [[nodiscard]] bool counts(const owner_id& owner, std::size_t server) const;
  void spread(const owner_id& owner, std::size_t server, bool has_it);
  void claim_at(const owner_id& owner, std::size_t server);
  void release(tickets::request request, on_reply done);
  void forget(const owner_id& owner);
  std::shared_ptr<delivery> begin_delivery();
  void finish(delivery& of);
  void release_again(const std::shared_ptr<farewell>& f, std::size_t server, duration pause);
  void downgrade(const tickets::request& request, on_reply done);
  void annotate(tickets::request request, on_reply done);
  void change(const tickets::request& request, on_reply done);
  void inspect(const tickets::request& request, on_reply done);
  void list(tickets::request request, on_reply done);
  void for_each_hold(const tickets::request& request, on_reply done);
  void send_for_each(const tickets::request& of, const std::vector<claim_state>& holders,
                     const on_reply& done);

  /// Sends a request to all servers. `decide` is called after each outcome, until it returns an answer, and
  /// at the end, when all have answered or are silent.
  using decision = std::function<std::optional<outcome>(const outcomes&, bool is_last)>;
  [[nodiscard]] decision renewal_of(
      std::vector<store::hold> holds,
      std::function<void(const owner_id&, std::size_t server, bool has_it)> at_server) const;
  /// \param done null: nobody waits for the answer.
  /// \param failed called for each server that has not carried the request out; may be null.
  void ask_all(const tickets::request& request, decision decide, on_reply done,
               std::function<void(std::size_t server)> failed = nullptr);
  void limit(const std::shared_ptr<round>& all, time_point begun);
  void send_part(const std::shared_ptr<round>& all, std::size_t server, tickets::request request);
  void answer(on_reply done, outcome o);
  void send_to(std::size_t server, tickets::request r, on_reply done);
  /// \param is_last those without an answer are silent, and not yet heard.
  [[nodiscard]] store::request_error too_few(const outcomes& all, bool is_last = true) const;
  [[nodiscard]] bool is_complete(const outcomes& all) const;
  /// Whether a majority has ever answered.
  [[nodiscard]] bool is_known() const;
  [[nodiscard]] std::size_t majority() const { return majority_of(settings_.servers); }

  store::scheduler& scheduler_;
  const settings settings_;
  const uses uses_;
  place_in_time places_;
  std::unordered_map<owner_id, claim_ptr> claims_;
  std::vector<std::pair<tickets::request, on_reply>> parked_;  // until the servers are known
  store::scheduler::timer time_limit_ = 0;
  std::size_t times_due_ = 0;
  server_set set_;
  bool is_acquainted_;  // the servers have been asked which set they keep: the first claim waits for that
  store::scheduler::timer meeting_ = 0;  // ends a wait for servers that have not been heard
  unsigned late_ = 0;                    // how many such waits have ended by it
  outcomes times_;                       // what they said
  std::vector<bool> answered_;           // servers that have, ever
  std::vector<bool> is_silent_;          // servers that have not answered in time, and nothing since
  std::size_t deliveries_ = 0;           // of releases and withdrawals that are not finished
  std::function<void()> delivered_;
  bool is_sending_ = false;      // a call of `send`, within which nothing is answered
  std::shared_ptr<bool> alive_;  // for callbacks that come late
};

}  // namespace holdfast::quorum
