// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/link.hpp"
#include "core/notification.hpp"
#include "core/request.hpp"
#include "core/scheduler.hpp"
#include "stores/quorum/protocol/ballots.hpp"
#include "stores/quorum/protocol/contender.hpp"
#include "stores/quorum/protocol/rounds.hpp"
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

  coordinator(store::scheduler& on, voting_terms of, transport& to);
  ~coordinator() { stop(); }
  coordinator(const coordinator&) = delete;
  coordinator& operator=(const coordinator&) = delete;

  /// See tickets::link. Always answers: within the silence, or the time to connect before a majority has ever
  /// answered. A listing goes on while parts of it come.
  void send(tickets::request request, on_reply done);
  /// See tickets::link. A claim whose servers are not known yet has not been sent to any.
  void take_back(std::uint64_t request);
  /// What a server says of itself: on each connection, before any request is sent over it. If it keeps
  /// another set of servers, or is another one of these servers, claims are refused from now on, and those
  /// that wait end. A hold stays: it excludes all clients of its own set, and ends as it would have anyway.
  /// \return why that server is not to be used.
  std::optional<failure> on_hello(std::size_t server, const self_description& said);
  /// What a server keeps after `transport::join`. A client that has claimed nothing yet, and is refused now,
  /// takes back what it wrote: two clients of different sets may have begun at once.
  /// \param wrote it is this client that has written it. \return as `on_hello`.
  std::optional<failure> joined(std::size_t server, self_description said, bool wrote);
  /// The server has not carried out `transport::join`, or nobody knows: it is done again a little later, a
  /// few times on each connection. Claims do not wait for that.
  void not_joined(std::size_t server);
  /// The connection after `on_hello` is in use.
  void connected(std::size_t server);
  /// A server cannot be reached.
  void on_unreachable(std::size_t server);
  /// A notification of one of the servers.
  void on_notification(std::size_t server, const store::notification& n);
  /// See rounds.
  void when_delivered(std::function<void()> action) { rounds_.when_delivered(std::move(action)); }
  /// Nothing is sent or answered afterwards.
  void stop();

 private:
  struct claimed;
  using claim_ptr = std::shared_ptr<claimed>;
  /// A claim that ends, on every server.
  struct withdrawal {
    ballots::retract request;
    time_point give_up;  // its ttl has ended it by then
  };
  using withdrawal_ptr = std::shared_ptr<const withdrawal>;
  /// Before the first claim all servers are asked which set they keep.
  enum class admission : std::uint8_t {
    hearing,   // servers that have said nothing are waited for
    joining,   // servers that are told the set are waited for
    admitted,  // nothing is waited for
  };

  void dispatch(tickets::request r, on_reply done);
  void answer(on_reply done, outcome o);

  void claim(const store::claim_ptr& claim, on_reply done);
  void look(const owner_id& owner, on_reply done);
  void ask_for_time();
  void begin_parked();
  void begin_claim(const store::claim_ptr& claim, on_reply done);
  void carry_out(const claim_ptr& c, contender::step s);
  [[nodiscard]] claim_ptr find(const owner_id& owner) const;
  void forget(const owner_id& owner);

  void check_server_set();
  void await_servers();
  void remove_own_set();
  void refuse_claims(const failure& reason);
  void refuse(const claim_ptr& c, const failure& reason);

  void renew(const tickets::renew& batch, on_reply done);
  void renew_last(const tickets::renew& batch, on_reply done);
  [[nodiscard]] rounds::decision renewal_of(
      std::vector<store::hold> holds,
      std::function<void(const owner_id&, std::size_t server, bool has_it)> at_server) const;
  [[nodiscard]] bool counts(const owner_id& owner, std::size_t server) const;
  void claim_at_missing(const owner_id& owner, std::size_t server, bool has_it);
  void end(store::hold h, bool was_held, on_reply done);
  void withdraw_at(std::size_t server, const withdrawal_ptr& w, duration pause);
  void withdraw_again(std::size_t server, const withdrawal_ptr& w, duration pause);
  void change(const tickets::request& r, on_reply done);
  template <class Answer, class View>
  void view(const tickets::request& r, const View& view_of, on_reply done);
  void inspect(const tickets::inspect& r, on_reply done);
  using request_for = std::function<ballots::request(const owner_id&, fencing_token)>;
  void for_each_hold(const std::string& name, fencing_token first, fencing_token last, request_for about,
                     const char* foreign, on_reply done);
  void send_all(const std::vector<ballots::request>& requests, const on_reply& done);

  const voting_terms terms_;
  transport& to_;
  rounds rounds_;
  server_set set_;
  std::unordered_map<owner_id, claim_ptr> claims_;
  std::vector<std::pair<store::claim_ptr, on_reply>> parked_;  // until the servers and their clocks are known
  admission admission_;
  store::scheduler::timer meeting_ = 0;  // ends a wait for servers
  bool is_time_due_ = false;             // the servers are being asked for their clocks
  bool is_sending_ = false;              // a call of `send`, within which nothing is answered
};

}  // namespace holdfast::quorum
