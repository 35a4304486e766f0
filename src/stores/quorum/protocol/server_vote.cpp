#include "stores/quorum/protocol/server_vote.hpp"

#include <algorithm>
#include <variant>

namespace holdfast::quorum {

void server_vote::forget_answers() {
  answered = false;
  problem.reset();
  pause.reset();
  capacity.reset();
}

void server_vote::take(const tickets::reply& reply, fencing_token token) {
  answered = true;
  problem.reset();
  refuses = false;
  lose_grant();
  if (const auto* place = std::get_if<tickets::place>(&reply)) {
    take_place(*place, token);
  } else if (const auto* none = std::get_if<tickets::refused>(&reply)) {
    ballot.blocker = none->vote ? none->vote->blocker : std::string{};
  } else if (const auto* paused = std::get_if<tickets::paused>(&reply)) {
    pause = paused->reason;
  } else if (const auto* other = std::get_if<tickets::other_capacity>(&reply)) {
    capacity = other->capacity;
  }
}

void server_vote::take_place(const tickets::place& place, fencing_token token) {
  at = place.granted ? standing::granted : standing::waiting;
  since = sent;
  head = place.head;
  silent = place.silent;
  holder_left = place.holder_left;
  pause = place.pause;
  if (!place.vote) return;
  // A new grant begins with the metadata of its request.
  if (shown == shown_token::unsure || ballot.grant != place.vote->grant) shown = shown_token::accepted;
  ballot = *place.vote;
  refuses = last_request == request::accept && ballot.accepted != token && ballot.fence < token;
}

std::chrono::microseconds server_vote::clock_at(time_point now) const {
  return ballot.clock + std::chrono::floor<std::chrono::microseconds>(now - since);
}

bool server_vote::can_accept(fencing_token token, time_point now, const voting_terms& of) const {
  if (problem) return false;
  if (ballot.accepted == token) return true;
  if (requests.is_in_flight() && now >= sent + of.silence) return false;
  const auto clock = static_cast<std::uint64_t>(clock_at(now).count());
  if (of.oldest != duration{} && token.value() + static_cast<std::uint64_t>(of.oldest.count()) <= clock)
    return false;
  const auto more = static_cast<std::uint64_t>(of.furthest.count());
  auto limit = clock + more;
  // The server's clock was set back.
  if (ballot.fence.value() > limit) limit = ballot.fence.value() + std::min(more, ~ballot.fence.value());
  return !refuses && ballot.fence < token && token.value() <= limit;
}

}  // namespace holdfast::quorum
