// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/contender.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "base/metadata.hpp"
#include "stores/quorum/protocol/problem_list.hpp"

namespace holdfast::quorum {

using tickets::place;
using standing = server_vote::standing;
using kind = server_vote::request;

namespace {

using namespace std::chrono_literals;

constexpr duration look_again = 10ms;    // while the votes are split
constexpr duration report_again = 50ms;  // a place in the queue
constexpr duration yield_again = 200ms;  // one that has failed

constexpr std::chrono::microseconds room = 20ms;  // for the way to a server whose clock is a little ahead

bool is_unheard(const server_vote& of) { return !of.answered && !of.problem; }
bool is_failed(const server_vote& of) { return of.problem.has_value(); }
bool is_paused(const server_vote& of) { return of.pause.has_value(); }
bool has_other_capacity(const server_vote& of) { return of.capacity.has_value(); }

/// Whether a hold that counts from `since` has more than half of its ttl left. A request begins a whole one.
bool leaves_enough(time_point since, time_point now, const store::claim& of) {
  return now + of.margin < since + store_ttl(of) / 2;
}

}  // namespace

// ---- what a server has said

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
  if (!std::holds_alternative<tickets::place>(reply)) proof = 0;
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
  // A grant has used the secret up. And a server that knows of it by another one may not know that it was
  // used.
  const bool is_of_another =
      answered_at.connection != 0 && place.position.connection != answered_at.connection;
  if (place.granted || is_of_another) proof = 0;
  answered_at = place.position;
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

void server_vote::take_proven(const store::notification& n) {
  at = standing::granted;
  head = silent = refuses = false;
  holder_left.reset();
  pause.reset();
  shown = shown_token::accepted;
  ballot.grant = n.grant;
  ballot.accepted = n.accepted;
  ballot.fence = n.fence;
  ballot.is_overtaken = false;
  ballot.blocker.clear();
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

// ---- events

void contender::prove_by(const std::vector<std::uint64_t>& secrets) {
  for (std::size_t i = 0; i < votes_.size(); ++i) votes_[i].proof = secrets.at(i);
}

contender::step contender::ask(time_point now) {
  step s;
  state_ = state::deciding;
  asked_at_ = now;
  reported_.reset();
  const auto since = won_since(now);
  if (since && leaves_enough(*since, now, *claim_)) {
    conclude(s, now);
    return s;
  }
  for (server_vote& each : votes_) each.forget_answers();
  for (std::size_t i = 0; i < votes_.size(); ++i) claim_at(s, now, i);
  s.wake_at = next_wake(now);
  return s;
}

contender::step contender::on_reply(time_point now, std::size_t server, const tickets::link::outcome& came) {
  step s;
  server_vote& of = votes_.at(server);
  const bool is_claimed_again = of.requests.finish();
  const auto* const reply = std::get_if<tickets::reply>(&came);
  const auto* const at = reply == nullptr ? nullptr : std::get_if<place>(reply);
  if (reply == nullptr) {
    of.problem = std::get<store::request_error>(came);
    of.proof = 0;
  } else if (of.last_request == kind::annotate) {
    if (holds() && std::holds_alternative<tickets::done>(*reply))
      of.shown = server_vote::shown_token::written;
  } else {
    of.take(*reply, token());
    if (of.pause) of.pause->message = with_place(terms_.places[server], std::move(of.pause->message));
    has_met_foreign_ = has_met_foreign_ || (at != nullptr && of.ballot.blocker.starts_with("foreign "));
  }
  if (holds()) {
    if (at != nullptr && at->granted) tell_token_at(s, now, server);
    return s;
  }
  if (at != nullptr && at->granted && at->vote && at->vote->is_overtaken && !may_win(now)) {
    of.at = standing::yielding;
    send(s, now, server, kind::yield);
  } else if (reply != nullptr && std::holds_alternative<tickets::nothing>(*reply)) {
    claim_at(s, now, server);  // it had ended there
  }
  consider(s, now);
  if (is_claimed_again && !of.requests.is_in_flight() && !holds() && !s.is_over) claim_at(s, now, server);
  if (!s.wake_at) s.wake_at = next_wake(now);
  return s;
}

contender::step contender::on_notification(time_point now, std::size_t server, const store::notification& n) {
  step s;
  server_vote& of = votes_.at(server);
  const bool is_proven = !holds() && leaves_enough(of.since, now, *claim_) && of.proves(n, number_);
  // Believed or not: somebody who has heard it may repeat it, when the grant is over and the claim waits
  // again.
  if (n.proof == of.proof) of.proof = 0;
  if (is_proven) {
    of.take_proven(n);
    consider(s, now);
  } else {
    const bool may_be_ended = n.kind == store::notification_kind::revoked && of.at == standing::granted;
    if (may_be_ended && !holds()) of.lose_grant();
    if (!holds()) claim_at(s, now, server);
  }
  if (!s.wake_at) s.wake_at = next_wake(now);
  return s;
}

contender::step contender::claim_at_missing(time_point now, std::size_t server) {
  step s;
  if (!votes_.at(server).requests.is_in_flight()) claim_at(s, now, server);
  return s;
}

contender::step contender::tell_token(time_point now, std::size_t server) {
  step s;
  tell_token_at(s, now, server);
  return s;
}

std::shared_ptr<const std::string> contender::annotate(std::shared_ptr<const std::string> metadata) {
  if (holds() && metadata)
    metadata = std::make_shared<const std::string>(with_hold_token(*metadata, token()));
  auto annotated = *claim_;
  annotated.metadata = metadata;
  claim_ = std::make_shared<const store::claim>(std::move(annotated));
  return metadata;
}

contender::step contender::wake(time_point now) {
  step s;
  if (holds()) return s;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    server_vote& each = votes_[i];
    const bool is_in_flight = each.requests.is_in_flight();
    if (each.at == standing::yielding && !is_in_flight && now >= each.sent + yield_again)
      send(s, now, i, kind::yield);
    const bool is_late = state_ == state::deciding && now >= asked_at_ + terms_.silence;
    if (is_late && each.requests.is_in_flight() && is_unheard(each))
      each.problem = no_answer_of(terms_.places[i]);
  }
  if (is_split_) resolve_split(s, now);
  consider(s, now);
  if (!s.wake_at) s.wake_at = next_wake(now);
  return s;
}

// ---- requests

/// If a request to the server is in flight, the claim is sent again after it: see on_reply.
void contender::send(step& s, time_point now, std::size_t server, kind which) {
  server_vote& to = votes_.at(server);
  if (!to.requests.start()) return;
  to.last_request = which;
  to.sent = now;
  const auto request = [&]() -> ballots::request {
    switch (which) {
      case kind::vote: return ballots::vote{claim_, number_, claim_->wait || is_split_ || holds(), to.proof};
      case kind::yield: return ballots::yield{hold(), to.ballot.grant};
      case kind::accept: return ballots::accept{hold_of(*claim_, token())};
      case kind::annotate: break;
    }
    return tickets::annotate{hold(), claim_->metadata};
  };
  s.send.push_back({server, request()});
}

/// A yield that is not answered goes first: it may have been carried out.
void contender::claim_at(step& s, time_point now, std::size_t server) {
  const bool is_yielding = votes_.at(server).at == standing::yielding;
  send(s, now, server, is_yielding ? kind::yield : kind::vote);
}

void contender::tell_token_at(step& s, time_point now, std::size_t server) {
  const server_vote& to = votes_.at(server);
  if (claim_->metadata && !to.shows(token()) && !to.requests.is_in_flight())
    send(s, now, server, kind::annotate);
}

void contender::resolve_split(step& s, time_point now) {
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const server_vote& each = votes_[i];
    if (!each.is_valid(now, ttl_) && !each.requests.is_in_flight()) claim_at(s, now, i);
  }
  s.wake_at = now + look_again;
}

// ---- the majority and its token

std::size_t contender::votes(time_point now) const {
  return count([&](const server_vote& each) { return each.is_valid(now, ttl_); });
}

/// When the earliest of the best majority's grants began; empty: there is no majority for one token.
std::optional<time_point> contender::won_since(time_point now) const {
  std::vector<time_point> all;
  for (const server_vote& each : votes_)
    if (each.is_valid(now, ttl_) && each.ballot.accepted == token()) all.push_back(each.since);
  if (all.size() < majority_) return std::nullopt;
  std::sort(all.begin(), all.end(), std::greater<>{});
  return all[majority_ - 1];
}

std::size_t contender::acceptors(fencing_token token, time_point now) const {
  return count([&](const server_vote& each) {
    return each.is_valid(now, ttl_) && each.can_accept(token, now, terms_);
  });
}

/// Whether a server may still say that it accepts a token.
bool contender::is_proposing(time_point now) const {
  return count([&](const server_vote& each) {
           return each.requests.is_in_flight() && each.last_request == kind::accept &&
                  now < each.sent + terms_.silence;
         }) != 0;
}

/// The largest number that follows a fence, and that a majority can accept; the time of a server only if all
/// of these are too old. For it is above the numbers of all who wait, and each of them would have to propose
/// another one, too.
///
/// A server whose clock is far ahead may have a fence that the others do not accept for long: then that
/// server alone is left out.
std::optional<fencing_token> contender::next_proposal(time_point now) const {
  std::optional<fencing_token> best;
  const auto consider_number = [&](std::uint64_t number) {
    const fencing_token next{number};
    if (next > best.value_or(fencing_token{}) && acceptors(next, now) >= majority_) best = next;
  };
  const auto after_fence = [&](const server_vote& of) {
    return std::max(of.ballot.fence.value(), token().value()) + 1;
  };
  for (const server_vote& each : votes_)
    if (each.is_valid(now, ttl_)) consider_number(after_fence(each));
  if (best) return best;
  for (const server_vote& each : votes_) {
    if (!each.is_valid(now, ttl_)) continue;
    const auto present = static_cast<std::uint64_t>((each.clock_at(now) + room).count());
    consider_number(std::max(after_fence(each), present));
  }
  return best;
}

/// Whether a majority has granted, and may accept one token by what is known. A server whose clock is far
/// behind grants, and accepts none: a claim that relied on its vote would keep the others from those that go
/// first.
bool contender::may_win(time_point now) const {
  if (won_since(now)) return true;
  if (votes(now) < majority_) return false;
  return is_proposing(now) || acceptors(token(), now) >= majority_ || next_proposal(now);
}

/// A majority has granted, and not accepted the same token. What a server has refused, or has not received,
/// is not proposed to it again before it has said something else.
void contender::propose(step& s, time_point now) {
  if (is_proposing(now)) return;
  if (!proposed_ || acceptors(token(), now) < majority_) {
    const auto next = next_proposal(now);
    if (!next) return;
    proposed_ = *next;
  }
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const server_vote& each = votes_[i];
    if (each.is_valid(now, ttl_) && each.can_accept(token(), now, terms_) && !each.requests.is_in_flight() &&
        each.ballot.accepted != token())
      send(s, now, i, kind::accept);
  }
}

// ---- conclusions

void contender::consider(step& s, time_point now) {
  if (won_since(now)) {
    if (state_ == state::deciding) return conclude(s, now);
    s.is_won = std::exchange(state_, state::won) != state::won;
    return;
  }
  if (state_ == state::won) state_ = state::idle;
  if (votes(now) >= majority_) propose(s, now);
  if (state_ == state::deciding) return conclude(s, now);
  if (now < reported_at_ + report_again || !is_news(now)) return;
  reported_.reset();
  s.should_look = true;
}

/// The first claim behind a foreign holder has to look, because that holder notifies nobody. The caller was
/// answered when a majority had; the other servers, and hints, have said since that the claim is first.
bool contender::is_news(time_point now) const {
  if (!reported_ || state_ != state::idle) return false;
  const place at = standing_at(now);
  return at.head && (!reported_->head || (at.silent && !reported_->silent));
}

void contender::answer(step& s, tickets::link::outcome outcome) {
  state_ = state::idle;
  s.answer = std::move(outcome);
}

void contender::refuse(step& s) {
  s.is_over = true;
  answer(s, tickets::reply{tickets::refused{}});
}

/// Answers the caller, if what the servers have said is enough.
void contender::conclude(step& s, time_point now) {
  if (const auto since = won_since(now)) {
    state_ = state::held;
    annotate(claim_->metadata);
    for (std::size_t i = 0; i < votes_.size(); ++i)
      if (votes_[i].is_valid(now, ttl_)) tell_token_at(s, now, i);
    place at;
    at.token = token();
    at.granted = true;
    at.counts_from = since;
    s.answer = tickets::reply{std::move(at)};
    return;
  }
  if (count(is_failed) > spare()) {
    store::request_error e = problem(now);
    // A majority has certainly not carried it out, and no try would change that. But a minority may have it.
    s.is_over = count([](const server_vote& each) {
                  return each.problem && !each.problem->retryable && !each.problem->maybe_executed;
                }) > spare();
    if (s.is_over) e.maybe_executed = false;
    return answer(s, std::move(e));
  }
  if (count(has_other_capacity) > spare()) {
    s.is_over = true;
    const auto other = std::find_if(votes_.begin(), votes_.end(), has_other_capacity);
    return answer(s, tickets::reply{tickets::other_capacity{*other->capacity}});
  }
  if (!claim_->wait) return conclude_try(s, now);
  if (count([](const server_vote& each) { return each.answered && !each.problem; }) < majority_) return;
  reported_ = standing_at(now);
  reported_at_ = now;
  answer(s, tickets::reply{*reported_});
}

/// The claim does not wait. It is refused if a majority names the same holder. If the votes are split among
/// claims of which none has a majority, it waits until one of them has, or it is late.
void contender::conclude_try(step& s, time_point now) {
  const bool is_late = now >= asked_at_ + terms_.silence;
  const auto is_denied = [](const server_vote& each) {
    return each.answered && each.at != standing::granted && each.at != standing::yielding && !each.problem &&
           !each.pause;
  };
  if (votes(now) >= majority_) {
    if (is_late && !is_proposing(now)) answer(s, problem(now));  // no token that a majority accepts
    return;
  }
  if (has_common_blocker()) return refuse(s);
  const std::size_t open = count([&](const server_vote& each) {
    return each.is_valid(now, ttl_) || is_unheard(each) || each.at == standing::yielding;
  });
  if (!is_split_ && open >= majority_ && !is_late) return;
  const std::size_t paused = count(is_paused);
  const bool is_contested = count(is_denied) != 0 || is_split_;
  if (is_contested && !is_late) {
    if (paused != 0 && count(is_unheard) != 0) return;  // those that are missing may name the holder
    if (paused == 0 && (votes(now) != 0 || is_split_)) {
      if (!std::exchange(is_split_, true)) resolve_split(s, now);
      return;
    }
  }
  if (paused != 0 && (open + paused >= majority_ || !is_contested)) {
    s.is_over = true;
    const auto first = std::find_if(votes_.begin(), votes_.end(), is_paused);
    return answer(s, tickets::reply{tickets::paused{*first->pause}});
  }
  if (!is_contested) return answer(s, problem(now));  // grants ran out before there was a majority
  refuse(s);
}

bool contender::has_common_blocker() const {
  std::map<std::string, std::size_t> named;
  for (const server_vote& each : votes_) {
    const std::string& blocker = each.ballot.blocker;
    if (each.at != standing::granted && !blocker.empty() && ++named[blocker] >= majority_) return true;
  }
  return false;
}

place contender::standing_at(time_point now) const {
  place at;
  at.token = number_;
  for (const server_vote& each : votes_) {
    if (each.is_valid(now, ttl_)) continue;
    at.head = at.head || each.head;
    if (each.head && each.holder_left)
      at.holder_left = std::min(at.holder_left.value_or(*each.holder_left), *each.holder_left);
  }
  at.silent = count([](const server_vote& each) { return each.silent; }) > spare();
  if (count(is_paused) > spare()) at.pause = std::find_if(votes_.begin(), votes_.end(), is_paused)->pause;
  return at;
}

// ---- for people

/// Too many servers have not answered, or no token has been accepted by enough.
store::request_error contender::problem(time_point now) const {
  problem_list problems;
  bool maybe_executed = false;
  for (std::size_t i = 0; i < votes_.size(); ++i) {
    const server_vote& each = votes_[i];
    if (each.problem) problems.add(terms_.places[i], *each.problem);
    maybe_executed = maybe_executed || each.answered || each.requests.is_in_flight() ||
                     (each.problem && each.problem->maybe_executed);
  }
  store::request_error all = problems.of_majority(votes_.size());
  all.maybe_executed = maybe_executed;
  if (count(is_failed) <= spare()) {
    all.reason.message =
        "no majority has granted and accepted one token in time" + problems.text() + refusals_by_clock(now);
  }
  return all;
}

/// A majority has granted, but there is none whose clocks are near enough to each other for one number. Says
/// which servers accept no number that is above the fence of the first one. Empty: the clocks are not to
/// blame.
std::string contender::refusals_by_clock(time_point now) const {
  if (votes(now) < majority_) return {};
  std::vector<std::pair<std::chrono::microseconds, std::size_t>> clocks;  // the first one is furthest
  for (std::size_t i = 0; i < votes_.size(); ++i)
    if (votes_[i].is_valid(now, ttl_) && !votes_[i].problem) clocks.emplace_back(votes_[i].clock_at(now), i);
  std::sort(clocks.begin(), clocks.end(), std::greater<>{});
  for (std::size_t i = 0; i + majority_ <= clocks.size(); ++i)
    if (clocks[i].first - clocks[i + majority_ - 1].first <= terms_.furthest) return {};
  std::string text;
  for (const auto& [clock, server] : clocks) {
    const auto behind = clocks.front().first - clock;
    if (behind <= terms_.furthest) continue;
    text += "; " + terms_.places[server] + " refuses the numbers of " + terms_.places[clocks.front().second] +
            ": its clock is " + std::to_string(std::chrono::round<std::chrono::seconds>(behind).count()) +
            " s behind (holdfast doctor says more)";
  }
  return text;
}

// ---- time

std::optional<time_point> contender::next_wake(time_point now) const {
  std::optional<time_point> next;
  const auto at = [&](time_point when) { next = std::min(next.value_or(when), when); };
  if (state_ == state::deciding && now < asked_at_ + terms_.silence) at(asked_at_ + terms_.silence);
  if (state_ == state::deciding && is_split_) at(now + look_again);
  if (is_news(now)) at(std::max(now, reported_at_ + report_again));
  for (const server_vote& each : votes_) {
    const bool is_in_flight = each.requests.is_in_flight();
    if (each.at == standing::yielding && !is_in_flight) at(std::max(now, each.sent + yield_again));
    const bool is_proposal = is_in_flight && each.last_request == kind::accept;
    if (is_proposal && now < each.sent + terms_.silence) at(each.sent + terms_.silence);
  }
  return next;
}

}  // namespace holdfast::quorum
