#include "stores/quorum/protocol/contender.hpp"

#include <utility>
#include <variant>

#include "base/hold_token.hpp"
#include "stores/quorum/protocol/problem_list.hpp"

namespace holdfast::quorum {

using tickets::ballot_step;
using tickets::place;

void name_place(failure& reason, std::span<const std::string> places, std::size_t server) {
  if (server >= places.size()) return;
  reason.message = with_place(places[server], std::move(reason.message));
}

store::request_error no_answer_of(std::span<const std::string> places, std::size_t server) {
  store::request_error e = store::no_answer();
  if (server < places.size()) e.reason.message = places[server] + " does not answer";
  return e;
}

contender::contender(tickets::request claim, const terms& of)
    : claim_{std::move(claim)},
      majority_{majority_of(of.servers)},
      silence_{of.silence},
      oldest_{of.oldest},
      furthest_{of.furthest},
      places_{of.places},
      seats_(of.servers) {}

// ---- events

contender::step contender::ask(time_point now) {
  step s;
  is_asked_ = true;
  asked_at_ = now;
  reported_.reset();
  holds_ = false;
  const auto since = won_since(now);
  if (since && now - *since < (claim_.ttl - claim_.grace) / 4) {
    conclude(s, now);
    return s;
  }
  for (seat& each : seats_) {
    each.answered = false;
    each.problem.reset();
    each.pause.reset();
    each.capacity.reset();
  }
  for (std::size_t i = 0; i < seats_.size(); ++i) claim_at(s, now, i);
  s.wake_at = next_wake(now);
  return s;
}

contender::step contender::hear(time_point now, std::size_t server, const tickets::link::outcome& came) {
  step s;
  seat& of = seats_.at(server);
  of.in_flight = false;
  if (const auto* failed = std::get_if<store::request_error>(&came)) {
    of.problem = *failed;
  } else if (of.sent_step == ballot_step::none) {
    of.is_told_token = holds_ && std::holds_alternative<tickets::done>(std::get<tickets::reply>(came));
  } else {
    take(of, std::get<tickets::reply>(came));
    if (of.pause) name_place(*of.pause, places_, server);
  }
  const auto* at = std::get_if<tickets::reply>(&came);
  const auto* standing = at == nullptr ? nullptr : std::get_if<place>(at);
  if (holds_) {
    if (standing != nullptr && standing->granted) tell_token_at(s, now, server);
    return s;
  }
  if (standing != nullptr && standing->granted && standing->vote && standing->vote->is_overtaken &&
      !may_win(now)) {
    of.yielding = of.grant;
    of.granted = false;
    send(s, now, server, ballot_step::yield);
  } else if (at != nullptr && std::holds_alternative<tickets::nothing>(*at)) {
    claim_at(s, now, server);  // it had ended there
  }
  consider(s, now);
  if (std::exchange(of.again, false) && !holds_ && !s.is_over) claim_at(s, now, server);
  if (!s.wake_at) s.wake_at = next_wake(now);
  return s;
}

contender::step contender::hint(time_point now, std::size_t server) {
  step s;
  if (!holds_) claim_at(s, now, server);
  s.wake_at = next_wake(now);
  return s;
}

contender::step contender::doubt(time_point now, std::size_t server) {
  if (!holds_) seats_.at(server).granted = false;
  return hint(now, server);
}

contender::step contender::spread(time_point now, std::size_t server) {
  step s;
  claim_at(s, now, server);
  seats_.at(server).again = false;
  return s;
}

contender::step contender::tell_token(time_point now, std::size_t server) {
  step s;
  tell_token_at(s, now, server);
  return s;
}

void contender::restarted(std::size_t server) {
  seat& of = seats_.at(server);
  of.has_restarted = true;
  of.is_told_token = false;
}

std::shared_ptr<const std::string> contender::annotate(std::shared_ptr<const std::string> metadata) {
  claim_.metadata = std::move(metadata);
  if (holds_ && claim_.metadata)
    claim_.metadata = std::make_shared<const std::string>(with_hold_token(*claim_.metadata, token()));
  return claim_.metadata;
}

contender::step contender::wake(time_point now) {
  step s;
  if (holds_) return s;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    seat& each = seats_[i];
    if (each.yielding && !each.in_flight && now >= each.sent + yield_again)
      send(s, now, i, ballot_step::yield);
    const bool is_silent = is_asked_ && each.in_flight && !each.answered && now >= asked_at_ + silence_;
    if (is_silent && !each.problem) each.problem = no_answer_of(places_, i);
  }
  if (is_split_) resolve_split(s, now);
  consider(s, now);
  if (!s.wake_at) s.wake_at = next_wake(now);
  return s;
}

// ---- what a server says

void contender::take(seat& of, const tickets::reply& reply) {
  of.answered = true;
  of.problem.reset();
  if (of.sent_step == ballot_step::yield) of.yielding.reset();
  of.granted = of.refuses = false;
  if (const auto* at = std::get_if<place>(&reply)) {
    take_place(of, *at);
    has_met_foreign_ = has_met_foreign_ || of.blocker.starts_with("foreign ");
    return;
  }
  if (const auto* none = std::get_if<tickets::refused>(&reply)) {
    of.blocker = none->vote ? none->vote->blocker : std::string{};
  } else if (const auto* pause = std::get_if<tickets::paused>(&reply)) {
    of.pause = pause->reason;
  } else if (const auto* other = std::get_if<tickets::other_capacity>(&reply)) {
    of.capacity = other->capacity;
  }
}

void contender::take_place(seat& of, const place& at) {
  of.knows_claim = true;
  of.granted = at.granted;
  of.since = of.sent;
  of.head = at.head;
  of.silent = at.silent;
  of.holder_left = at.holder_left;
  of.pause = at.pause;
  if (!at.vote) return;
  of.accepted = at.vote->accepted;
  of.has_restarted = false;
  of.fence = at.vote->fence;
  of.clock = at.vote->clock;
  of.refuses = of.sent_step == ballot_step::accept && of.accepted != token() && of.fence < token();
  if (std::exchange(of.grant, at.vote->grant) != at.vote->grant) of.is_told_token = false;
  of.blocker = at.vote->blocker;
}

// ---- requests

void contender::send(step& s, time_point now, std::size_t server, ballot_step kind) {
  seat& to = seats_.at(server);
  tickets::request r = claim_;
  r.step = kind;
  if (kind == ballot_step::claim) {
    r.kind = tickets::task::acquire;
    r.wait = claim_.wait || is_split_ || holds_;
  } else if (kind == ballot_step::none) {
    r.kind = tickets::task::annotate;
  } else {
    r.kind = tickets::task::look;
    r.metadata.reset();
    if (kind == ballot_step::yield) r.grant = *to.yielding;
    if (kind == ballot_step::accept) r.token = token();
  }
  to.in_flight = true;
  to.again = false;
  to.sent_step = kind;
  to.sent = now;
  s.send.push_back({server, std::move(r)});
}

void contender::tell_token_at(step& s, time_point now, std::size_t server) {
  const seat& to = seats_.at(server);
  const bool has_token = to.is_told_token || (to.accepted == token() && !to.has_restarted);
  if (!has_token && !to.in_flight && claim_.metadata) send(s, now, server, ballot_step::none);
}

/// A yield that is not answered goes first: it may have been carried out.
void contender::claim_at(step& s, time_point now, std::size_t server) {
  seat& to = seats_.at(server);
  if (to.in_flight) {
    to.again = true;
    return;
  }
  send(s, now, server, to.yielding ? ballot_step::yield : ballot_step::claim);
}

}  // namespace holdfast::quorum
