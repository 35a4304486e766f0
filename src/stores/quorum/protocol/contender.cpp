#include "stores/quorum/protocol/contender.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <variant>

namespace holdfast::quorum {

using tickets::ballot_step;
using tickets::place;

namespace {

using namespace std::chrono_literals;

constexpr duration yield_again = 200ms;
constexpr duration look_again = 10ms;     // while the votes are split
constexpr std::size_t most_problems = 3;  // in a message

}  // namespace

contender::contender(tickets::request claim, std::size_t servers, duration silence)
    : claim_{std::move(claim)}, majority_{majority_of(servers)}, silence_{silence}, seats_(servers) {}

template <class Predicate>
std::size_t contender::count(Predicate is_meant) const {
  return static_cast<std::size_t>(std::count_if(seats_.begin(), seats_.end(), is_meant));
}

// ---- events

contender::step contender::ask(time_point now) {
  step s;
  is_asked_ = true;
  asked_at_ = now;
  holds_ = false;
  const auto since = won_since(now);
  if (since && now - *since < claim_.ttl / 4) {
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

contender::step contender::hear(time_point now, std::size_t server, const tickets::link::outcome& what_came) {
  step s;
  seat& of = seats_.at(server);
  of.in_flight = false;
  if (const auto* failed = std::get_if<store::request_error>(&what_came)) {
    of.problem = *failed;
  } else {
    take(of, std::get<tickets::reply>(what_came));
  }
  if (holds_) return s;
  const auto* at = std::get_if<tickets::reply>(&what_came);
  const auto* standing = at == nullptr ? nullptr : std::get_if<place>(at);
  if (standing != nullptr && standing->granted && standing->vote->is_overtaken && votes(now) < majority_) {
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

contender::step contender::spread(time_point now, std::size_t server) {
  step s;
  claim_at(s, now, server);
  seats_.at(server).again = false;
  return s;
}

contender::step contender::wake(time_point now) {
  step s;
  if (holds_) return s;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    seat& each = seats_[i];
    if (each.yielding && !each.in_flight && now >= each.sent + yield_again)
      send(s, now, i, ballot_step::yield);
    const bool is_silent = is_asked_ && each.in_flight && !each.answered && now >= asked_at_ + silence_;
    if (is_silent && !each.problem) each.problem = store::no_answer();
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
  of.granted = false;
  if (const auto* at = std::get_if<place>(&reply)) return take_place(of, *at);
  if (const auto* none = std::get_if<tickets::refused>(&reply)) {
    of.blocker = none->vote ? none->vote->blocker : std::string{};
  } else if (const auto* pause = std::get_if<tickets::paused>(&reply)) {
    of.pause = pause->reason;
  } else if (const auto* other = std::get_if<tickets::other_capacity>(&reply)) {
    of.capacity = other->capacity;
  }
}

void contender::take_place(seat& of, const place& at) {
  of.granted = at.granted;
  of.since = of.sent;
  of.head = at.head;
  of.silent = at.silent;
  of.holder_left = at.holder_left;
  of.pause = at.pause;
  if (!at.vote) return;
  of.accepted = at.vote->accepted;
  of.fence = at.vote->fence;
  of.grant = at.vote->grant;
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

/// A yield that is not answered goes first: it may have been carried out.
void contender::claim_at(step& s, time_point now, std::size_t server) {
  seat& to = seats_.at(server);
  if (to.in_flight) {
    to.again = true;
    return;
  }
  send(s, now, server, to.yielding ? ballot_step::yield : ballot_step::claim);
}

// ---- conclusions

bool contender::is_valid(const seat& of, time_point now) const {
  return of.granted && !of.yielding && of.since + claim_.ttl > now;
}

std::size_t contender::votes(time_point now) const {
  return count([&](const seat& each) { return is_valid(each, now); });
}

/// When the earliest of the best majority's grants began; empty: there is no majority for one token.
std::optional<time_point> contender::won_since(time_point now) const {
  std::vector<time_point> all;
  for (const seat& each : seats_)
    if (is_valid(each, now) && each.accepted == token()) all.push_back(each.since);
  if (all.size() < majority_) return std::nullopt;
  std::sort(all.begin(), all.end(), std::greater<>{});
  return all[majority_ - 1];
}

void contender::consider(step& s, time_point now) {
  if (won_since(now)) {
    if (is_asked_) return conclude(s, now);
    s.is_won = !std::exchange(was_won_, true);
    return;
  }
  was_won_ = false;
  if (votes(now) >= majority_) propose(s, now);
  if (is_asked_) conclude(s, now);
}

/// A majority has granted, and not accepted the same token.
void contender::propose(step& s, time_point now) {
  const auto is_behind = [&](const seat& each) {
    return is_valid(each, now) && each.fence >= token() && each.accepted != token();
  };
  const auto is_asking = [&](const seat& each) {
    return each.in_flight && each.sent_step == ballot_step::accept;
  };
  if (count(is_asking) != 0) return;
  if (!proposed_ || count(is_behind) != 0) {
    std::uint64_t most = token().value();
    for (const seat& each : seats_)
      if (is_valid(each, now)) most = std::max(most, each.fence.value());
    proposed_ = fencing_token{most + 1};
  }
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const seat& each = seats_[i];
    if (is_valid(each, now) && !each.in_flight && each.accepted != token())
      send(s, now, i, ballot_step::accept);
  }
}

/// Answers the caller, if what the servers have said is enough.
void contender::conclude(step& s, time_point now) {
  const auto answer = [&](tickets::link::outcome outcome) {
    is_asked_ = false;
    s.answer = std::move(outcome);
  };
  if (const auto since = won_since(now)) {
    holds_ = was_won_ = true;
    place at;
    at.token = token();
    at.granted = true;
    at.counts_from = since;
    return answer(tickets::reply{std::move(at)});
  }
  const std::size_t spare = seats_.size() - majority_;  // so many may be missing
  const std::size_t failed = count([](const seat& each) { return each.problem.has_value(); });
  if (failed > spare) return answer(problem());
  const auto other =
      std::find_if(seats_.begin(), seats_.end(), [](const seat& e) { return e.capacity.has_value(); });
  if (count([](const seat& each) { return each.capacity.has_value(); }) > spare) {
    s.is_over = true;
    return answer(tickets::reply{tickets::other_capacity{*other->capacity}});
  }
  if (!claim_.wait) return conclude_try(s, now);
  const std::size_t heard = count([](const seat& each) { return each.answered && !each.problem; });
  if (heard >= majority_) answer(tickets::reply{standing_at(now)});
}

/// The claim does not wait. It is refused if a majority names the same holder. Where the votes are split
/// among claims of which none has a majority, it waits until one of them has.
void contender::conclude_try(step& s, time_point now) {
  const std::size_t open = count([&](const seat& each) {
    return is_valid(each, now) || (!each.answered && !each.problem) || each.yielding.has_value();
  });
  const std::size_t paused = count([](const seat& each) { return each.pause.has_value(); });
  if (!is_split_ && open >= majority_) return;
  if (votes(now) >= majority_) return;  // a token is being accepted
  const auto is_denied = [](const seat& each) {
    return each.answered && !each.granted && !each.problem && !each.pause && !each.yielding;
  };
  const bool is_turned_away = count(is_denied) != 0;
  if (paused != 0 && (open + paused >= majority_ || !is_turned_away)) {
    const auto first =
        std::find_if(seats_.begin(), seats_.end(), [](const seat& each) { return each.pause.has_value(); });
    is_asked_ = false;
    s.is_over = true;
    s.answer = tickets::reply{tickets::paused{*first->pause}};
    return;
  }
  if (!is_turned_away && !is_split_) {  // grants ran out before there was a majority
    is_asked_ = false;
    s.answer = problem();
    return;
  }
  const bool was_free = votes(now) != 0 || is_split_;
  const bool is_late = now >= asked_at_ + silence_;
  if (!was_free || has_common_blocker() || is_late) return refuse(s);
  if (!std::exchange(is_split_, true)) resolve_split(s, now);
}

void contender::resolve_split(step& s, time_point now) {
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const seat& each = seats_[i];
    if (!is_valid(each, now) && !each.in_flight) claim_at(s, now, i);
  }
  s.wake_at = now + look_again;
}

void contender::refuse(step& s) {
  is_asked_ = false;
  s.is_over = true;
  s.answer = tickets::reply{tickets::refused{}};
}

bool contender::has_common_blocker() const {
  std::map<std::string, std::size_t> named;
  for (const seat& each : seats_)
    if (!each.granted && !each.blocker.empty() && ++named[each.blocker] >= majority_) return true;
  return false;
}

place contender::standing_at(time_point now) const {
  tickets::place at;
  at.token = claim_.token;
  const std::size_t spare = seats_.size() - majority_;
  for (const seat& each : seats_) {
    if (is_valid(each, now)) continue;
    at.head = at.head || each.head;
    if (each.head && each.holder_left)
      at.holder_left = std::min(at.holder_left.value_or(*each.holder_left), *each.holder_left);
  }
  at.silent = count([](const seat& each) { return each.silent; }) > spare;
  if (count([](const seat& each) { return each.pause.has_value(); }) > spare) {
    at.pause =
        std::find_if(seats_.begin(), seats_.end(), [](const seat& e) { return e.pause.has_value(); })->pause;
  }
  return at;
}

/// Too many servers have not answered. What no try would change counts if it is true of so many.
store::request_error contender::problem() const {
  const std::size_t spare = seats_.size() - majority_;
  const auto is_final = [](const seat& each) { return each.problem && !each.problem->retryable; };
  store::request_error all;
  all.retryable = count(is_final) <= spare;
  std::string text;
  std::size_t problems = 0;
  bool has_code = false;
  for (const seat& each : seats_) {
    all.maybe_executed = all.maybe_executed || each.answered ||
                         (each.problem && each.problem->maybe_executed) || each.in_flight;
    if (!each.problem) continue;
    if (!has_code && each.problem->retryable == all.retryable) {
      all.reason.code = each.problem->reason.code;
      has_code = true;
    }
    if (++problems <= most_problems) text += "; " + each.problem->reason.message;
  }
  all.reason.message = std::to_string(problems) + " of " + std::to_string(seats_.size()) +
                       " servers do not answer or refuse, and a majority is needed" + text;
  return all;
}

std::optional<time_point> contender::next_wake(time_point now) const {
  std::optional<time_point> next;
  const auto at = [&](time_point when) { next = std::min(next.value_or(when), when); };
  if (is_asked_ && now < asked_at_ + silence_) at(asked_at_ + silence_);
  if (is_asked_ && is_split_) at(now + look_again);
  for (const seat& each : seats_)
    if (each.yielding && !each.in_flight) at(std::max(now, each.sent + yield_again));
  return next;
}

}  // namespace holdfast::quorum
