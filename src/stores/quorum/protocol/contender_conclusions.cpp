// What a claim concludes from what the servers have said.

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <variant>

#include "stores/quorum/protocol/contender.hpp"
#include "stores/quorum/protocol/problem_list.hpp"

namespace holdfast::quorum {

using tickets::ballot_step;
using tickets::place;

namespace {

using namespace std::chrono_literals;

constexpr duration look_again = 10ms;    // while the votes are split
constexpr duration report_again = 50ms;  // a place in the queue

constexpr std::chrono::microseconds room = 20ms;  // for the way to a server whose clock is a little ahead

}  // namespace

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
  if (is_asked_) return conclude(s, now);
  if (now < reported_at_ + report_again || !is_news(now)) return;
  reported_.reset();
  s.should_look = true;
}

/// Whoever comes first behind a foreign holder has to look, because that one notifies nobody. The caller was
/// answered when a majority had; the other servers, and hints, have said since that the claim is first.
bool contender::is_news(time_point now) const {
  if (!reported_ || is_asked_ || holds_ || was_won_) return false;
  const place at = standing_at(now);
  return at.head && (!reported_->head || (at.silent && !reported_->silent));
}

/// It is no further than that.
std::chrono::microseconds contender::clock_of(const seat& of, time_point now) {
  return of.clock + std::chrono::floor<std::chrono::microseconds>(now - of.since);
}

bool contender::can_accept(const seat& of, fencing_token token, time_point now) const {
  if (!is_valid(of, now) || of.problem) return false;
  if (of.accepted == token) return true;
  if (of.in_flight && now >= of.sent + silence_) return false;
  const auto clock = static_cast<std::uint64_t>(clock_of(of, now).count());
  if (oldest_ != duration{} && token.value() + static_cast<std::uint64_t>(oldest_.count()) <= clock)
    return false;
  const auto more = static_cast<std::uint64_t>(furthest_.count());
  auto limit = clock + more;
  // The server's clock was set back.
  if (of.fence.value() > limit) limit = of.fence.value() + std::min(more, ~of.fence.value());
  return !of.refuses && of.fence < token && token.value() <= limit;
}

/// The largest number that follows a fence, or is the time of a server, and that a majority can accept. A
/// server whose clock is far ahead may have a fence that the others do not accept for long: then that server
/// alone is left out.
std::optional<fencing_token> contender::next_proposal(time_point now) const {
  std::optional<fencing_token> best;
  const auto consider_number = [&](std::uint64_t number) {
    const fencing_token next{number};
    const auto accepts = [&](const seat& each) { return can_accept(each, next, now); };
    if (next > best.value_or(fencing_token{}) && count(accepts) >= majority_) best = next;
  };
  for (const seat& each : seats_) {
    if (!is_valid(each, now)) continue;
    const std::uint64_t after = std::max(each.fence.value(), token().value()) + 1;
    consider_number(after);
    consider_number(std::max(after, static_cast<std::uint64_t>((clock_of(each, now) + room).count())));
  }
  return best;
}

/// Whether a server may still say that it accepts a token.
bool contender::is_proposing(time_point now) const {
  return count([&](const seat& each) {
           return each.in_flight && each.sent_step == ballot_step::accept && now < each.sent + silence_;
         }) != 0;
}

/// Whether a majority has granted, and may accept one token by what is known. A server whose clock is far
/// behind grants, and accepts none: a claim that relied on its vote would keep the others from those that go
/// first.
bool contender::may_win(time_point now) const {
  if (won_since(now)) return true;
  if (votes(now) < majority_) return false;
  const auto accepts = [&](const seat& each) { return can_accept(each, token(), now); };
  return is_proposing(now) || count(accepts) >= majority_ || next_proposal(now);
}

/// A majority has granted, and not accepted the same token. What a server has refused, or has not received,
/// is not proposed to it again before it has said something else.
void contender::propose(step& s, time_point now) {
  if (is_proposing(now)) return;
  const auto accepts = [&](const seat& each) { return can_accept(each, token(), now); };
  if (!proposed_ || count(accepts) < majority_) {
    const auto next = next_proposal(now);
    if (!next) return;
    proposed_ = *next;
  }
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const seat& each = seats_[i];
    if (can_accept(each, token(), now) && !each.in_flight && each.accepted != token())
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
    annotate(claim_.metadata);
    for (std::size_t i = 0; i < seats_.size(); ++i)
      if (is_valid(seats_[i], now)) tell_token_at(s, now, i);
    place at;
    at.token = token();
    at.granted = true;
    at.counts_from = since;
    return answer(tickets::reply{std::move(at)});
  }
  const std::size_t spare = seats_.size() - majority_;  // so many may be missing
  const std::size_t failed = count([](const seat& each) { return each.problem.has_value(); });
  if (failed > spare) {
    store::request_error e = problem(now);
    // Nobody has to find out later whether it was granted; but a minority may have it.
    s.is_over = is_refused_for_good();
    if (s.is_over) e.maybe_executed = false;
    return answer(std::move(e));
  }
  const auto other =
      std::find_if(seats_.begin(), seats_.end(), [](const seat& e) { return e.capacity.has_value(); });
  if (count([](const seat& each) { return each.capacity.has_value(); }) > spare) {
    s.is_over = true;
    return answer(tickets::reply{tickets::other_capacity{*other->capacity}});
  }
  if (!claim_.wait) return conclude_try(s, now);
  const std::size_t heard = count([](const seat& each) { return each.answered && !each.problem; });
  if (heard < majority_) return;
  reported_ = standing_at(now);
  reported_at_ = now;
  answer(tickets::reply{*reported_});
}

/// The claim does not wait. It is refused if a majority names the same holder. Where the votes are split
/// among claims of which none has a majority, it waits until one of them has, or it is late.
void contender::conclude_try(step& s, time_point now) {
  const bool is_late = now >= asked_at_ + silence_;
  const auto is_unheard = [](const seat& each) { return !each.answered && !each.problem; };
  const auto is_paused = [](const seat& each) { return each.pause.has_value(); };
  const auto is_denied = [](const seat& each) {
    return each.answered && !each.granted && !each.problem && !each.pause && !each.yielding;
  };
  const auto answer = [&](tickets::link::outcome outcome) {
    is_asked_ = false;
    s.answer = std::move(outcome);
  };
  if (votes(now) >= majority_) {
    if (is_late && !is_proposing(now)) answer(problem(now));  // no token that a majority accepts
    return;
  }
  if (has_common_blocker()) return refuse(s);
  const std::size_t open = count(
      [&](const seat& each) { return is_valid(each, now) || is_unheard(each) || each.yielding.has_value(); });
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
    return answer(
        tickets::reply{tickets::paused{*std::find_if(seats_.begin(), seats_.end(), is_paused)->pause}});
  }
  if (!is_contested) return answer(problem(now));  // grants ran out before there was a majority
  refuse(s);
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

/// Whether a majority has certainly not carried it out, and no try would change that.
bool contender::is_refused_for_good() const {
  return count([](const seat& each) {
           return each.problem && !each.problem->retryable && !each.problem->maybe_executed;
         }) > seats_.size() - majority_;
}

/// For people: a majority has granted, but there is none whose clocks are near enough to each other for one
/// number. Says which servers accept no number that is above the fence of the first one. Empty: the clocks
/// are not to blame.
std::string contender::refusals_by_clock(time_point now) const {
  if (votes(now) < majority_) return {};
  const auto is_heard = [&](const seat& each) { return is_valid(each, now) && !each.problem; };
  const auto behind = [&](const seat& one, const seat& other) {
    return clock_of(other, now) - clock_of(one, now);
  };
  const seat* first = nullptr;
  for (const seat& each : seats_) {
    if (!is_heard(each)) continue;
    const auto is_near = [&](const seat& other) {
      return is_heard(other) && behind(other, each) >= duration{} && behind(other, each) <= furthest_;
    };
    if (count(is_near) >= majority_) return {};
    if (first == nullptr || behind(*first, each) > duration{}) first = &each;
  }
  std::string text;
  const auto name = [&](const seat& of) {
    const auto server = static_cast<std::size_t>(&of - seats_.data());
    return server < places_.size() ? places_[server] : std::string{"a server"};
  };
  for (const seat& each : seats_) {
    if (!is_heard(each) || behind(each, *first) <= furthest_) continue;
    text += "; " + name(each) + " refuses the numbers of " + name(*first) + ": its clock is " +
            std::to_string(std::chrono::round<std::chrono::seconds>(behind(each, *first)).count()) +
            " s behind (holdfast doctor says more)";
  }
  return text;
}

/// Too many servers have not answered, or no token has been accepted by enough. What no try would change
/// counts if it is true of so many.
store::request_error contender::problem(time_point now) const {
  const std::size_t spare = seats_.size() - majority_;
  const auto is_final = [](const seat& each) { return each.problem && !each.problem->retryable; };
  store::request_error all;
  all.reason.code = errc::unavailable;
  all.retryable = count(is_final) <= spare;
  problem_list list;
  std::size_t problems = 0;
  bool has_code = false;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const seat& each = seats_[i];
    all.maybe_executed = all.maybe_executed || each.answered ||
                         (each.problem && each.problem->maybe_executed) || each.in_flight;
    if (!each.problem) continue;
    if (!has_code && each.problem->retryable == all.retryable) {
      all.reason.code = each.problem->reason.code;
      has_code = true;
    }
    ++problems;
    list.add(i < places_.size() ? places_[i] : "", each.problem->reason.message);
  }
  if (problems > spare) {
    all.reason.message = std::to_string(problems) + " of " + std::to_string(seats_.size()) +
                         " servers do not answer or refuse, and a majority is needed" + list.text();
  } else {
    all.reason.message =
        "no majority has granted and accepted one token in time" + list.text() + refusals_by_clock(now);
  }
  return all;
}

std::optional<time_point> contender::next_wake(time_point now) const {
  std::optional<time_point> next;
  const auto at = [&](time_point when) { next = std::min(next.value_or(when), when); };
  if (is_asked_ && now < asked_at_ + silence_) at(asked_at_ + silence_);
  if (is_asked_ && is_split_) at(now + look_again);
  if (is_news(now)) at(std::max(now, reported_at_ + report_again));
  for (const seat& each : seats_) {
    if (each.yielding && !each.in_flight) at(std::max(now, each.sent + yield_again));
    const bool is_proposal = each.in_flight && each.sent_step == ballot_step::accept;
    if (is_proposal && now < each.sent + silence_) at(each.sent + silence_);
  }
  return next;
}

}  // namespace holdfast::quorum
