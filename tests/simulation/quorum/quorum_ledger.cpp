// SPDX-License-Identifier: Apache-2.0
#include "simulation/quorum/quorum_ledger.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <variant>

#include "support/request_form.hpp"

namespace holdfast::sim {

using test::task;

void quorum_ledger::executed_at(std::size_t server, std::int64_t now, const test::request_form& request,
                                bool late, const tickets::reply& answer) {
  count_request();
  if (late && request.kind == task::vote) claimed_late_.insert(request.owner);
  switch (request.kind) {
    case task::vote:
    case task::yield:
    case task::accept:
      if (const auto* at = std::get_if<tickets::place>(&answer)) {
        stands(server, now, request, late, *at);
      } else if (std::holds_alternative<tickets::refused>(answer)) {
        turned_away_.insert(request.owner);
      }
      return;
    case task::renew:
      for (std::size_t i = 0; i < request.holds.size(); ++i) {
        const store::hold& h = request.holds[i];
        const auto found = claims_.find(h.owner);
        if (found == claims_.end()) continue;
        if (!std::get<tickets::kept>(answer).each[i]) {
          found->second.denied = in_.now;
        } else if (!late) {
          found->second.expires.at(server) = now + h.ttl.count();
        }
      }
      return;
    case task::retract:
      claims_[request.owner].expires.at(server) = 0;
      claims_[request.owner].ended.at(server) = true;
      return;
    case task::end_hold:
      if (const auto* ended = std::get_if<tickets::count>(&answer); ended == nullptr || ended->value == 0)
        return;
      ended_by_hand_.insert(request.owner);
      broken(index_of(request.name));
      return;
    default: return;
  }
}

/// A claim that comes late, maybe after its release, or is sent again because the server did not know the
/// script, stands there until its ttl. Its owner cannot know.
void quorum_ledger::stands(std::size_t server, std::int64_t now, const test::request_form& request, bool late,
                           const tickets::place& at) {
  claimed& c = claims_[request.owner];
  c.first_request = std::min(c.first_request, in_.now);
  if (request.kind == task::vote && c.weight == 0) {
    constexpr std::size_t enough = 16;
    c.weight = request.weight;
    standing s;
    s.name = index_of(request.name);
    s.owner = request.owner;
    s.token = request.token.value();
    latest_.push_back(s);
    if (latest_.size() > enough) latest_.pop_front();
  }
  if (!late && !c.ended.at(server)) c.expires.at(server) = now + request.ttl.count();
  if (!at.vote) return;
  if (!at.granted) turned_away_.insert(request.owner);
  if (at.granted) c.first_vote = std::min(c.first_vote, in_.now);
  if (at.granted && at.vote->accepted) c.accepted[at.vote->accepted.value()].insert(server);
}

/// A notification that has the whole vote.
void quorum_ledger::granted_at(std::size_t server, const store::notification& n) {
  if (n.kind != store::notification_kind::granted || n.proof == 0) return;
  claimed& c = claims_[n.owner];
  c.first_vote = std::min(c.first_vote, in_.now);
  if (n.accepted) c.accepted[n.accepted.value()].insert(server);
}

void quorum_ledger::forgot_all_at(std::size_t server, bool has_guard) {
  // A claim that was numbered before may be granted there with that number.
  if (!has_guard) numbers_mean_nothing_until_ = in_.now;
  for (auto& [owner, each] : claims_) each.expires.at(server) = 0;
}

bool quorum_ledger::answers_for(const owner_id& owner) const {
  const auto found = claims_.find(owner);
  if (found == claims_.end()) return false;
  std::size_t living = 0;
  for (std::size_t i = 0; i < most_servers; ++i) {
    const std::int64_t expires = found->second.expires.at(i);
    if (expires != 0 && expires > clock_of(i)) ++living;
  }
  return living >= majority_;
}

/// Where a server grants the claim again that it has denied, the client may hear of that later.
bool quorum_ledger::surely_lives(const store::hold& h) const {
  constexpr auto latest_answer = std::chrono::seconds{10};
  const auto found = claims_.find(h.owner);
  if (found != claims_.end() && found->second.denied + latest_answer > in_.now) return false;
  return look_(index_of(h.name), h.owner) >= majority_;
}

ledger::grant quorum_ledger::grant_of(const store::hold& h) const {
  const std::uint64_t token = h.token.value();
  order& o = orders_.at(index_of(h.name));
  if (const auto known = o.grants.find({h.owner, token}); known != o.grants.end()) return known->second;
  const auto found = claims_.find(h.owner);
  if (found == claims_.end()) return {};
  const auto servers = found->second.accepted.find(token);
  if (servers == found->second.accepted.end() || servers->second.size() < majority_) return {};
  constexpr unsigned bits = 40;  // microseconds: more than a world has
  const bool is_alone = found->second.weight == store::full_capacity;
  if (o.first_token == 0) o.first_token = token;
  o.group = is_alone ? (o.group + 2) & ~std::uint64_t{1} : o.group | 1U;
  if (o.group == 0) o.group = 2;
  const std::uint64_t within = token + (std::uint64_t{1} << (bits - 1)) - o.first_token;
  const bool is_in_order = broken_at(index_of(h.name)) < found->second.first_vote &&
                           numbers_mean_nothing_until_ < found->second.first_request;
  const grant made{(o.group << bits) + within, is_in_order ? 0 : ++eras_without_order_};
  o.grants.emplace(std::pair{h.owner, token}, made);
  return made;
}

const standing* quorum_ledger::any_claim(randomness& chance) const {
  return latest_.empty() ? nullptr : &latest_[chance.below(latest_.size())];
}

void node_ledger::print(const test::request_form& request, bool late, const tickets::reply& answer,
                        const std::vector<store::client_notification>& notifications, duration paused) {
  std::ostringstream text;
  text << "  at " << server_ << " of " << request.name << " by " << request.owner.hex();
  if (late) text << ", late";
  if (paused > duration{0}) text << ", paused";
  if (const auto* at = std::get_if<tickets::place>(&answer)) {
    text << (at->granted ? ": granted" : at->head ? ": head" : ": waits");
    if (at->vote) {
      text << ", accepted " << at->vote->accepted.value() << ", fence " << at->vote->fence.value()
           << (at->vote->is_overtaken ? ", overtaken" : "") << ", behind " << at->vote->blocker;
    }
  }
  if (const auto* kept = std::get_if<tickets::kept>(&answer)) {
    for (std::size_t i = 0; i < kept->each.size(); ++i)
      text << ' ' << request.holds[i].owner.hex() << (kept->each[i] ? " kept" : " gone");
  }
  for (const store::client_notification& n : notifications)
    text << "; tells " << n.message.owner.hex() << ' ' << static_cast<int>(n.message.kind);
  in_.log.line(in_.now, text.str());
}

/// A request names an owner. Its hold alone has the request now, and nothing else has changed: no end, no
/// grant, and no place in the queue.
void node_ledger::requested(const test::request_form& request, const tickets::reply& answer,
                            const std::vector<store::client_notification>& notifications) const {
  all_.count_request();
  if (look_() != before_request_) in_.violated("a request to release has changed a claim");
  const auto* const count = std::get_if<tickets::count>(&answer);
  if (count == nullptr || count->value != notifications.size())
    in_.violated("a request to release has not notified those that it has counted");
  for (const store::client_notification& n : notifications) {
    const auto holds = [&](const standing& s) { return s.owner == n.message.owner && s.granted; };
    const bool is_holder = std::any_of(before_request_.begin(), before_request_.end(), holds);
    if (n.message.kind != store::notification_kind::release_requested || n.message.owner != request.owner)
      in_.violated("a request to release has notified somebody else");
    if (!is_holder) in_.violated("a request to release has notified who does not hold");
    if (all_.on_release_request) all_.on_release_request(n.message.owner);
  }
}

void node_ledger::executed(const test::request_form& request, bool late, const tickets::reply& answer,
                           const std::vector<store::client_notification>& notifications, duration paused) {
  in_.note("executed", server_ << 16U | static_cast<std::uint64_t>(request.kind), request.token.value(),
           answer.index());
  if (in_.log.prints()) print(request, late, answer, notifications, paused);
  if (request.kind == task::ask_owner) return requested(request, answer, notifications);
  all_.executed_at(server_, at_.lease_now(), request, late, answer);
  for (const store::client_notification& each : notifications) all_.granted_at(server_, each.message);
}

}  // namespace holdfast::sim
