// SPDX-License-Identifier: Apache-2.0
#include "core/questions.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

#include "holdfast/error.hpp"

namespace holdfast::tickets {

using store::released;
using store::request_error;
using store::time_point;

namespace {

std::vector<store::renewed> outcomes_in(const kept& each) {
  std::vector<store::renewed> outcomes;
  outcomes.reserve(each.each.size());
  for (const bool yes : each.each) outcomes.push_back(yes ? store::renewed::yes : store::renewed::lost);
  for (const std::size_t i : each.unsure) outcomes.at(i) = store::renewed::unknown;
  return outcomes;
}

}  // namespace

request renewing::next(time_point /*now*/) const { return renew{holds, answer_by}; }

verdict<store::renewals> renewing::read(const reply& r, time_point sent, bool /*doubted*/) const {
  return store::renewals{sent, outcomes_in(std::get<kept>(r))};
}

store::renewals renewing::give_up(const request_error& /*reason*/) const {
  return {{}, std::vector<store::renewed>(holds.size(), store::renewed::unknown)};
}

request ending::next(time_point now) const {
  if (now >= until) return release{hold};
  store::hold resting = hold;
  resting.ttl = std::chrono::ceil<duration>(until - now);
  return renew{{std::move(resting)}, time_point::max(), true};
}

verdict<released> ending::read(const reply& r, time_point /*sent*/, bool doubted) const {
  bool is_gone = std::holds_alternative<nothing>(r);
  if (const auto* const renewal = std::get_if<kept>(&r)) {
    const store::renewed outcome = outcomes_in(*renewal).at(0);
    if (outcome == store::renewed::unknown) return no_answer{};
    is_gone = outcome == store::renewed::lost;
  }
  return is_gone && !doubted ? released::was_gone : released::done;
}

released ending::give_up(const request_error& /*reason*/) const { return released::unknown; }

bool ending::outlasts(const failure& refusal) {
  return refusal.code == errc::permission_denied || refusal.code == errc::unavailable;
}

std::optional<forcing> forcing::of(std::string name, const std::optional<lock_state>& seen,
                                   std::optional<fencing_token> token) {
  if (!seen) return std::nullopt;
  std::vector<fencing_token> tokens;
  for (const claim_state& holder : seen->holders) {
    if (!token || holder.token == *token) tokens.push_back(holder.token);
  }
  if (token && tokens.empty()) return std::nullopt;
  forcing found;
  found.name_ = std::move(name);
  found.count_ = tokens.size();
  std::sort(tokens.begin(), tokens.end());
  for (const fencing_token t : tokens) {
    const bool is_next = !found.ranges_.empty() && t.value() - found.ranges_.back().last.value() <= 1;
    if (!is_next) found.ranges_.push_back({t, t});
    found.ranges_.back().last = t;
  }
  // Without a holder the store still hands the name on to whoever waits behind dead claims.
  if (found.ranges_.empty()) found.ranges_.emplace_back();
  return found;
}

request forcing::next(time_point /*now*/) const {
  const range& of = ranges_.at(parts_done_);
  return force_release{name_, of.first, of.last};
}

verdict<store::forced> forcing::read(const reply& r, time_point /*sent*/, bool doubted) {
  ended_ += std::get<count>(r).value;
  if (++parts_done_ != ranges_.size()) return part{};
  // An earlier try may have ended them: by now they have ended, one way or another.
  return store::forced{doubted ? count_ : ended_};
}

store::forced forcing::give_up(const request_error& reason) const {
  failure f = of_a_change(reason);
  if (!reason.maybe_executed && ended_ != 0) {
    f.message.append("; of the holds before it ").append(std::to_string(ended_)).append(" ended");
  }
  return f;
}

request requesting_release::next(time_point /*now*/) const {
  return request_release{name, token.value_or(fencing_token{}), token.value_or(last_token), reason};
}

verdict<store::notified> requesting_release::read(const reply& r, time_point /*sent*/,
                                                  bool /*doubted*/) const {
  return store::notified{std::get<count>(r).value};
}

store::notified requesting_release::give_up(const request_error& reason) const { return of_a_change(reason); }

}  // namespace holdfast::tickets
