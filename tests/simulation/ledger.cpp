// SPDX-License-Identifier: Apache-2.0
#include "simulation/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "support/joint_requests.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

using test::task;

void ledger::executed(const test::request_form& request, bool late, const tickets::reply& answer,
                      const std::vector<store::client_notification>& notifications, duration paused) {
  ++requests_;
  is_paused_ = paused > duration{0};
  if (is_paused_) paused_until_ = std::max(paused_until_, in_.now + paused);
  const std::size_t name = request.name.empty() ? 0 : index_of(request.name);
  in_.note("executed", static_cast<std::uint64_t>(request.kind) << 8U | name, request.token.value(),
           answer.index());
  if (in_.log.prints()) {
    in_.log.line(in_.now,
                 "  by " + request.owner.hex() + (late ? ", late" : "") + (is_paused_ ? ", paused" : ""));
  }
  const bool yes = !std::holds_alternative<tickets::nothing>(answer);
  if (late) note_late(request);
  if (in_.log.prints())
    for (const store::client_notification& n : notifications) {
      in_.log.line(in_.now,
                   "  tells " + n.message.owner.hex() + ", " + std::to_string(n.message.token.value()));
    }
  if (heads_[name] == request.owner) ++looks_[name];
  if (const auto* at = std::get_if<tickets::place>(&answer)) {
    if (at->head && !at->granted && at->holder_left && !late && !is_paused_) {
      heads_[name] = request.owner;
      ++looks_[name];  // it may have been the head before, with others in between
      require_look_after(name, *at->holder_left);
    }
    if (at->head && outsiders_[name]) {
      looks_out_[name] = request.owner;
      looks_since_[name] = in_.now;
    } else if (looks_out_[name] == request.owner) {
      looks_out_[name] = {};
    }
  }
  if (std::holds_alternative<tickets::refused>(answer)) turned_away_.insert(request.owner);
  bool frees_capacity = true;
  switch (request.kind) {
    case task::acquire:
      for (const store::client_notification& n : notifications)
        notified(name, n.message);  // those who came before it are served before it
      if (const auto* at = std::get_if<tickets::place>(&answer)) acquired(request, late, *at);
      break;
    case task::find:
      if (fact* f = find(name, request.owner); f != nullptr) {
        if (!yes && lives(*f)) violated("a living claim is not found", name, 0);
        if (yes && terms_.finds_renew) begin_ttl(*f, request.ttl);
      }
      break;
    case task::look:
      kept(find_exactly(name, request.owner, request.token.value()), name, request.token.value(), request.ttl,
           yes);
      break;
    case task::renew:
      for (std::size_t i = 0; i < request.holds.size(); ++i) {
        const store::hold& h = request.holds[i];
        fact* f = find(index_of(h.name), h.owner, h.token.value());
        if (f != nullptr && !f->granted) f = nullptr;  // what waits cannot be renewed as a hold
        const auto& unsure = std::get<tickets::kept>(answer).unsure;
        if (std::find(unsure.begin(), unsure.end(), i) != unsure.end()) continue;
        kept(f, index_of(h.name), h.token.value(), h.ttl, std::get<tickets::kept>(answer).each[i]);
      }
      break;
    case task::release: ended(find(name, request.owner, request.token.value()), name, yes); break;
    case task::withdraw: ended(find(name, request.owner), name, yes); break;
    case task::downgrade:
    case task::annotate: {
      fact* const f = find(name, request.owner, request.token.value());
      const bool wrong = yes ? f == nullptr : f != nullptr && has_to_change(*f, request.kind);
      if (wrong) violated("a change of a hold was answered wrongly", name, request.token.value());
      const bool lowers = yes && f != nullptr && request.kind == task::downgrade;
      frees_capacity = lowers && f->weight != 1;  // or it was lowered by an earlier try
      if (lowers) f->weight = 1;
      break;
    }
    case task::force_release:
      broken(name);
      std::erase_if(facts_, [&](const fact& f) {
        const bool meant = f.token >= request.token.value() && f.token <= request.last.value();
        const bool ended = f.name == name && f.granted && meant;
        if (ended && lives(f) && !was_granted_by(seen_by_force_[name], f.token)) {
          violated("a hold was ended by force that was granted after the call", name, f.token);
        }
        return ended;
      });
      break;
    case task::inspect: seen_by_force_[name] = grants_; return;
    case task::request_release: note_requests(notifications); return requested(name);
    case task::list: return;
    case task::acquire_all:
    case task::release_all: return in_.violated("a joint request is accounted for as one");
    default: return in_.violated("a store that decides alone was sent a request to one of several");
  }
  if (request.kind != task::acquire) {
    for (const store::client_notification& n : notifications) notified(name, n.message);
  }
  const bool serves = yes && frees_capacity && request.kind != task::acquire && request.kind != task::find &&
                      request.kind != task::renew;
  if (serves && !is_paused_) require_served(name);
  std::erase_if(facts_, [&](const fact& f) { return f.name == name && is_gone(f); });
}

void ledger::carried_out(const tickets::request& request, bool late, const tickets::reply& answer,
                         const std::vector<store::client_notification>& notifications, duration paused) {
  const auto parts = test::parts_of(request);
  if (parts.empty()) return executed(test::form_of(request), late, answer, notifications, paused);
  const auto& each = std::get<tickets::several>(answer).each;
  if (each.size() > parts.size()) in_.violated("more answers than requests");
  for (std::size_t i = 0; i < std::min(parts.size(), each.size()); ++i) {
    const test::request_form form = test::form_of(parts[i]);
    std::vector<store::client_notification> of_part;
    std::copy_if(notifications.begin(), notifications.end(), std::back_inserter(of_part),
                 [&](const auto& n) { return find(index_of(form.name), n.message.owner) != nullptr; });
    std::visit([&](const auto& said) { executed(form, late, tickets::reply{said}, of_part, paused); },
               each[i]);
  }
}

void ledger::executed_by_former(const test::request_form& request, const tickets::reply& answer,
                                const std::vector<store::client_notification>& notifications) {
  ++requests_;
  const std::size_t name = request.name.empty() ? 0 : index_of(request.name);
  in_.note("executed by the former primary", static_cast<std::uint64_t>(request.kind) << 8U | name,
           request.token.value(), answer.index());
  if (in_.log.prints()) in_.log.line(in_.now, "  by " + request.owner.hex());
  if (std::holds_alternative<tickets::refused>(answer)) turned_away_.insert(request.owner);
  note_requests(notifications);
  // The primary does not know of it, and its holder may go on there.
  if (request.kind == task::force_release) suspect_[name] = true;
  // What is seen here says nothing of the primary's holds.
  if (request.kind == task::inspect) seen_by_force_[name] = std::numeric_limits<std::uint64_t>::max();
  for (const store::client_notification& n : notifications) {
    if (n.message.kind == store::notification_kind::granted) {
      granted_by_former(name, n.message.owner, n.message.token.value());
    }
  }
  const auto* const at = std::get_if<tickets::place>(&answer);
  if (at != nullptr && at->granted) granted_by_former(name, request.owner, at->token.value());
}

/// The two draw their tokens by themselves, so they do not rise from one to the other.
void ledger::granted_by_former(std::size_t name, const owner_id& owner, std::uint64_t token) {
  auto& all = grants_of_[owner];
  if (std::any_of(all.begin(), all.end(), [&](const auto& known) { return known.first == token; })) return;
  in_.note("former primary grants", name, token, ++grants_);
  constexpr std::uint32_t of_former = 0x8000'0000;
  all.push_back({token, {grants_, of_former + times_forgotten_}});
}

void ledger::refused(const test::request_form& request, const store::request_error& reason) {
  ++refusals_;
  in_.note("refused", static_cast<std::uint64_t>(request.kind));
  if (in_.log.prints()) in_.log.line(in_.now, "  " + request.owner.hex() + ": " + reason.reason.message);
}

void ledger::begin_ttl(fact& f, duration ttl) const {
  f.ttl = ttl;
  f.expires = at_.lease_now() + ttl.count() - terms_.grain;
  f.gone = at_.lease_now() + ttl.count() + terms_.grain;
}

void ledger::acquired(const test::request_form& request, bool late, const tickets::place& at) {
  const std::size_t name = index_of(request.name);
  fact* const before = find(name, request.owner);
  if (before != nullptr && before->token == at.token.value()) {  // the same place again, for one more ttl
    begin_ttl(*before, request.ttl);
    if (at.granted && !before->granted) granted(*before);
    return;
  }
  if (late && terms_.late_is_possible) unanswerable_.insert(request.owner);
  // A store that came back with old contents may have a claim that its client has seen end. The owner then
  // has two, and a release ends the one that it names.
  if (!terms_.owner_says_all && before != nullptr && before->excused && lives(*before)) {
    unanswerable_.insert(request.owner);
  }
  if (before != nullptr && lives(*before) && !before->excused && !unanswerable_.contains(request.owner) &&
      !confused_.contains(request.owner)) {
    violated("a claim was made twice", name, at.token.value());
  }
  // Where the last token is forgotten only the clock keeps tokens rising, unless it was set back too far.
  const bool clock_is_behind = last_granted_[name] >= static_cast<std::uint64_t>(at_.wall_now()) &&
                               (clock_went_back_ || !at_.ends_by_wall_clock);
  if (std::exchange(forgets_[name], false) && clock_is_behind) {
    last_granted_[name] = 0;
    begin_era(name);
  }
  // A token drawn anew: notifications about the first are taken for the second's. That cannot be while the
  // clock or the last token is there to prevent it.
  if (const auto known = grants_of_.find(request.owner); known != grants_of_.end()) {
    for (const auto& [token, grant] : known->second) {
      if (token == at.token.value()) confused_.insert(request.owner);
    }
  }
  if (terms_.owner_says_all) {
    std::erase_if(facts_, [&](const fact& old) { return old.name == name && old.owner == request.owner; });
  }
  fact f;
  f.name = name;
  f.owner = request.owner;
  f.token = at.token.value();
  f.weight = request.weight;
  f.excused = late;
  begin_ttl(f, request.ttl);
  facts_.push_back(f);
  if (at.granted) granted(facts_.back());
}

void ledger::kept(fact* f, std::size_t name, std::uint64_t token, duration ttl, bool yes) {
  in_.note("kept", name, token, yes ? static_cast<std::uint64_t>(ttl / std::chrono::milliseconds{1}) : 0);
  if (yes && f == nullptr) return violated("what had ended lives again", name, token);
  if (yes) return begin_ttl(*f, ttl);
  if (f == nullptr) return;
  if (lives(*f)) violated("a living claim was denied", name, token);
  f->expires = f->gone = at_.lease_now();
}

void ledger::ended(fact* f, std::size_t name, bool yes) {
  if (yes && f == nullptr) return violated("an end was confirmed of a claim that did not live", name, 0);
  if (f == nullptr) return;
  if (!yes && lives(*f)) violated("a living claim was denied at its end", name, f->token);
  facts_.erase(facts_.begin() + (f - facts_.data()));
}

void ledger::notified(std::size_t name, const store::notification& n) {
  if (n.kind != store::notification_kind::granted) return;
  const std::uint64_t token = n.token.value();
  // A clock that was set back brings a claim to life again beside the next one of its owner.
  fact* const exact = find_exactly(name, n.owner, token);
  fact* const f = exact != nullptr ? exact : find(name, n.owner, token);
  if (f == nullptr) return violated("a claim was told of a grant that does not live", name, token);
  if (f->granted) return violated("a claim was told twice that it was granted", name, token);
  f->token = token;
  granted(*f);
}

void ledger::granted(fact& f) {
  f.granted = true;
  if (is_paused_) violated("the store granted while it may have forgotten grants", f.name, f.token);
  if (failed_.contains(f.owner) && !f.excused && !unanswerable_.contains(f.owner))
    violated("granted to a claim whose client was told that it has failed", f.name, f.token);
  ++comings_[f.name];
  served_since_left_free_[f.name] = true;
  if (outsiders_[f.name]) violated("the store granted what a client of others holds", f.name, f.token);
  if (terms_.grants_renew) {
    if (f.ttl > duration{0}) {
      begin_ttl(f, f.ttl);
    } else {
      f.expires = at_.lease_now();  // who knows; until it is kept, or ended
      f.gone = f.expires + duration{longest_ttl}.count() + terms_.grain;
    }
  }
  // A store that came back with old contents may grant anew what it had granted before.
  if (f.token <= last_granted_[f.name] && !f.excused && !clock_went_back_) {
    violated("a token is not above that of the grant before", f.name, f.token);
  }
  number(f.name, f.owner, f.token);
  f.grant_number = grants_;
  std::int64_t held = 0;
  for (const fact& other : facts_) {
    if (other.name == f.name && other.granted && lives(other)) held += other.weight;
  }
  if (held > capacity_of(f.name)) violated("the store granted more than the capacity", f.name, f.token);
}

/// A store that came back with old contents grants a seen hold anew, and may draw a seen token anew.
bool ledger::was_granted_by(std::uint64_t number, std::uint64_t token) const {
  return std::any_of(grants_of_.begin(), grants_of_.end(), [&](const auto& of_owner) {
    return std::any_of(of_owner.second.begin(), of_owner.second.end(),
                       [&](const auto& its) { return its.first == token && its.second.number <= number; });
  });
}

void ledger::number(std::size_t name, const owner_id& owner, std::uint64_t token) {
  // What a clock set forward ended, and a clock set back brings to life again, has the token of its time.
  if (token <= last_granted_[name] && clock_went_back_) {
    last_granted_[name] = 0;
    begin_era(name);
  }
  in_.note("store grants", name, token, ++grants_);
  last_granted_[name] = std::max(last_granted_[name], token);
  grants_of_[owner].push_back({token, {grants_, eras_[name]}});
}

void ledger::changed(const std::vector<standing>& now_there, bool lost) {
  looks_out_ = {};
  went_back_until_ = std::max(went_back_until_, in_.now);
  served_since_left_free_.fill(true);  // by what the store knows now
  facts_.clear();
  for (const standing& s : now_there) {
    fact f;
    static_cast<standing&>(f) = s;
    f.expires -= terms_.grain;
    f.gone = s.expires + terms_.grain;
    f.excused = true;
    facts_.push_back(f);
  }
  if (lost) forgets_.fill(true);
  if (clock_went_back_) suspect_revived();
}

void ledger::clock_went_back(const std::vector<standing>& now_there, duration by) {
  clock_went_back_ = true;
  changed(now_there, false);
  // What steps back have added to the life of a key adds up.
  serves_late_until_ = std::max(serves_late_until_, in_.now + longest_ttl) + by;
}

void ledger::evicted(std::size_t name) {
  suspect_[name] = true;
  forgets_[name] = true;
  broken(name);
}

void ledger::forgot(std::size_t name) {
  in_.note("forgotten", name);
  ++forgotten_;
  const bool in_use =
      std::any_of(facts_.begin(), facts_.end(), [&](const fact& f) { return f.name == name && lives(f); });
  if (in_use) violated("a name was forgotten that is in use", name, 0);
  forgets_[name] = true;
}

void ledger::trust_again() {
  if (std::none_of(suspect_.begin(), suspect_.end(), [](bool s) { return s; })) return;
  suspect_.fill(false);
  changed(look_(), false);
}

void ledger::broken(std::optional<std::size_t> name, instant until) {
  for (std::size_t i = 0; i < names; ++i) {
    if (!name || *name == i) broken_[i] = std::max({broken_[i], until, in_.now});
  }
}

void ledger::forgot_grants(bool has_guard, instant until) {
  forgot_grants_at_ = in_.now;
  went_back_until_ = std::max(went_back_until_, until);
  ++times_forgotten_;
  if (!has_guard) broken(std::nullopt, until);
}

bool ledger::answers_for(const owner_id& owner) const {
  if (unanswerable_.contains(owner) || confused_.contains(owner)) return false;
  return std::any_of(facts_.begin(), facts_.end(),
                     [&](const fact& f) { return f.owner == owner && !f.excused && lives(f); });
}

bool ledger::surely_lives(const store::hold& h) const {
  // The notification of an end may come late, when there is another claim of that owner.
  constexpr auto latest_notification = std::chrono::seconds{10};
  const std::size_t name = index_of(h.name);
  const bool calm = broken_.at(name) == instant::min() || broken_.at(name) + latest_notification < in_.now;
  return calm && !is_suspect(name) && answers_for(h.owner);
}

ledger::grant ledger::grant_of(const store::hold& h) const {
  const auto found = grants_of_.find(h.owner);
  if (found == grants_of_.end() || found->second.empty()) return {};
  for (const auto& [token, grant] : found->second) {
    if (token == h.token.value()) return grant;
  }
  return found->second.back().second;  // a client that makes tokens of its own is found out by these
}

const standing* ledger::any_claim(randomness& chance) const {
  return facts_.empty() ? nullptr : &facts_[chance.below(facts_.size())];
}

void ledger::compare(const std::vector<standing>& now_there) {
  std::size_t there = 0;
  for (const standing& s : now_there) {
    if (s.expires <= at_.lease_now()) continue;
    ++there;
    const fact* const f = find(s.name, s.owner, s.token);
    if (f == nullptr || f->granted != s.granted || f->weight != s.weight) {
      violated("what stands at the store is not what was carried out", s.name, s.token);
    }
  }
  if (there < living()) violated("claims have vanished from the store", 0, 0);
}

ledger::fact* ledger::find(std::size_t name, const owner_id& owner, std::uint64_t token) {
  return terms_.owner_says_all ? find(name, owner) : find_exactly(name, owner, token);
}

ledger::fact* ledger::find_exactly(std::size_t name, const owner_id& owner, std::uint64_t token) {
  for (fact& f : facts_) {
    if (f.name == name && f.token == token && f.owner == owner && !is_gone(f)) return &f;
  }
  return nullptr;
}

ledger::fact* ledger::find(std::size_t name, const owner_id& owner) {
  for (fact& f : facts_) {
    if (f.name == name && f.owner == owner && !is_gone(f)) return &f;
  }
  return nullptr;
}

void ledger::violated(const std::string& text, std::size_t name, std::uint64_t token) {
  if (is_suspect(name)) return;
  in_.violated("store: " + text + ": " + name_of(name) + ", token " + std::to_string(token));
}

}  // namespace holdfast::sim
