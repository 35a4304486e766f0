#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "stores/quorum/protocol/ballots.hpp"
#include "stores/quorum/protocol/rounds.hpp"

namespace holdfast::quorum {

/// How claims end: a release goes to all servers, and is repeated at each until it has confirmed it, or the
/// ttl has ended the claim there. It names the largest number that was drawn: the owner may claim again while
/// the release is still on its way.
class withdrawals {
 public:
  /// \param is_superseded whether the owner has claimed again: that claim ends the former one on every server
  /// to which it comes, and is withdrawn itself.
  withdrawals(rounds& to, std::function<bool(const owner_id&)> is_superseded)
      : to_{to}, is_superseded_{std::move(is_superseded)} {}

  /// Releases or withdraws a claim.
  void send(const ballots::retract& r, rounds::on_reply done);
  /// Sends the last renewal of a hold. The claim is withdrawn from each server at which it still waits: it
  /// would be granted later, to nobody. \param decide says what the renewal has come to.
  void send_last(const tickets::renew& renewal, rounds::decision decide, rounds::on_reply done);

 private:
  /// A claim that ends, on every server.
  struct pending_withdrawal {
    ballots::retract withdrawal;
    time_point give_up;  // its ttl has ended it by then
  };
  using pending = std::shared_ptr<const pending_withdrawal>;

  void withdraw_at(std::size_t server, const pending& w, duration pause);
  void repeat(std::size_t server, const pending& w, duration pause);

  rounds& to_;
  const std::function<bool(const owner_id&)> is_superseded_;
};

}  // namespace holdfast::quorum
