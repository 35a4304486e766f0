// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "simulation/ledger.hpp"
#include "support/request_form.hpp"

// What the ledger requires of the client at the head of a queue, and of the store beside it; and what others
// ask it.

namespace holdfast::sim {

/// No release, withdrawal or look may leave a living waiter at the head of the queue who would fit.
void ledger::require_served(std::size_t name) {
  if (in_.now < serves_late_until_ || outsiders_[name] || left_free_until_[name] > at_.lease_now()) return;
  std::int64_t held = 0;
  const fact* first = nullptr;
  for (const fact& f : facts_) {
    if (f.name != name || is_gone(f)) continue;
    if (!lives(f)) return;  // it may be there or not
    if (f.granted) {
      held += f.weight;
    } else if (first == nullptr) {
      first = &f;
    }
  }
  if (first != nullptr && held + first->weight <= capacity_of(name)) {
    violated("capacity was freed, and the first who fits was not served", name, first->token);
  }
}

/// A late request may prolong a hold that nobody keeps any more.
void ledger::note_late(const test::request_form& request) {
  kept_late_.insert(request.owner);
  for (const store::hold& each : request.holds) kept_late_.insert(each.owner);
}

/// Metadata is replaced of claims that hold alone. One that rests may have been downgraded, unknown to its
/// client.
bool ledger::has_to_change(const fact& f, test::task by) const {
  const bool fits = by == test::task::downgrade || f.weight == store::full_capacity;
  return f.granted && lives(f) && fits;
}

/// Holders together whose mark had expired live again after a step back, at once or with an old copy, though
/// a client of others took their place.
void ledger::suspect_revived() {
  for (const fact& f : facts_) {
    const bool beside = outsiders_[f.name] || outsider_seen_[f.name] > at_.lease_now();
    if (f.granted && !is_gone(f) && beside) suspect_[f.name] = true;
  }
}

std::size_t ledger::living() const {
  return static_cast<std::size_t>(
      std::count_if(facts_.begin(), facts_.end(), [this](const fact& f) { return lives(f); }));
}

bool ledger::may_have(const store::hold& h) const {
  if (unanswerable_.contains(h.owner) || confused_.contains(h.owner)) return true;
  return std::any_of(facts_.begin(), facts_.end(), [&](const fact& f) { return f.owner == h.owner; });
}

void ledger::outsider(std::size_t name, bool there) {
  if (there) outsider_seen_[name] = std::max(outsider_seen_[name], at_.lease_now());
  if (std::exchange(outsiders_[name], there) == there) return;
  in_.note("outsider", name, there ? 1 : 0);
  if (there) {
    ++comings_[name];
    looks_out_[name] = {};
  } else {
    require_noticed(name);
  }
}

/// The head looks every 50 to 55 ms, and its requests and their answers take their time. Nobody else need
/// notice.
void ledger::require_noticed(std::size_t name) {
  constexpr auto soon = std::chrono::milliseconds{250};
  if (in_.now < paused_until_) return;  // it looks when the pause is over
  const owner_id head = looks_out_[name];
  const auto known = clients_.find(head);
  if (head == owner_id{} || known == clients_.end()) return;
  const auto seen = [this, name = static_cast<std::uint8_t>(name), before = comings_[name], head,
                     client = known->second, since = std::min(looks_since_[name], in_.now - soon)] {
    const auto first =
        std::find_if(facts_.begin(), facts_.end(), [&](const fact& f) { return f.name == name; });
    const bool stands = first != facts_.end() && first->owner == head && lives(*first);
    if (comings_[name] != before) {
      if (stands && first->granted) ++outsiders_followed_;
      return;
    }
    if (in_.now < paused_until_) return;  // the server's clock was set back, and the pause has begun again
    const bool calm =
        client.at->life() == client.life && client.at->calm_since(since) && at_.calm_since(since);
    if (stands && !first->granted && calm && clients_.contains(head)) {
      violated("a client of others has ended, and the head has not noticed", name, first->token);
    }
  };
  in_.after(soon, seen);
}

void ledger::left_free(std::size_t name, std::int64_t until, bool careless) {
  constexpr auto longest = std::chrono::milliseconds{100};
  const duration left{until - at_.lease_now()};
  if (left <= duration{0} || until == left_free_until_[name]) return;
  if (left > longest && clock_went_back_) return;  // the store takes no notice of it either
  left_free_until_[name] = until;
  ++moments_left_free_;
  in_.note("left free", name);
  if (left > longest) violated("the lock is left free for too long", name, 0);
  if (!std::exchange(served_since_left_free_[name], false)) {
    violated("the lock is left free again, and nobody was served in between", name, 0);
  }
  // The head is notified, and looks after a third of its ttl all the same.
  const duration at_most = careless ? longest_ttl / 3 : left;
  require_taken(name, at_most + std::chrono::milliseconds{250});
}

/// When the lock has been left free, a client of others has come, or the first of ours takes it.
void ledger::require_taken(std::size_t name, duration at_most) {
  const auto waits = [this](std::size_t at) {
    const auto first = std::find_if(facts_.begin(), facts_.end(),
                                    [&](const fact& f) { return f.name == at && !f.granted && !is_gone(f); });
    return first != facts_.end() && lives(*first) ? first->owner : owner_id{};
  };
  const owner_id head = waits(name);
  const auto known = clients_.find(head);
  if (known == clients_.end()) return;
  in_.after(at_most, [this, waits, name = static_cast<std::uint8_t>(name), before = comings_[name], head,
                      client = known->second, since = in_.now] {
    if (comings_[name] != before || waits(name) != head || !clients_.contains(head)) return;
    if (in_.now < paused_until_ + longest_ttl / 3) return;  // it looks when the pause is over, like any other
    const bool calm =
        client.at->life() == client.life && client.at->calm_since(since) && at_.calm_since(since);
    if (calm) violated("the lock was left free, and the head of the queue has not taken it", name, 0);
  });
}

/// The head of the queue looks 1 ms after the holder's time is up, by its own clock; its requests and their
/// answers take their time.
void ledger::require_look_after(std::size_t name, duration holder_left) {
  const owner_id head = heads_[name];
  const auto known = clients_.find(head);
  if (known == clients_.end()) return;
  constexpr auto soon = std::chrono::milliseconds{250};
  const duration at_most = holder_left + holder_left / 50 + soon;
  const auto look = [this, name = static_cast<std::uint8_t>(name), before = looks_[name], head,
                     client = known->second, since = in_.now] {
    if (heads_[name] != head || looks_[name] != before || !clients_.contains(head)) return;
    const auto first =
        std::find_if(facts_.begin(), facts_.end(), [&](const fact& f) { return f.name == name; });
    const bool waits = first != facts_.end() && first->owner == head && lives(*first) && !first->granted;
    const bool calm =
        client.at->life() == client.life && client.at->calm_since(since) && at_.calm_since(since);
    if (waits && calm) {
      violated("the holder's time is up, and the head of the queue has not looked", name, first->token);
    }
  };
  in_.after(at_most, look);
}

/// A request to release is for its holder: it ends nothing, moves no end, and changes no queue.
void ledger::requested(std::size_t name) {
  const std::vector<standing> there = look_();
  for (const standing& s : there) {
    if (s.name != name || s.expires <= at_.lease_now()) continue;
    const fact* const f = find_exactly(name, s.owner, s.token);
    if (f == nullptr || f->granted != s.granted || f->weight != s.weight) {
      violated("a request to release has changed a claim", name, s.token);
    } else if (s.expires > f->gone) {
      violated("a request to release has moved the end of a claim", name, s.token);
    }
  }
  for (const fact& f : facts_) {
    const bool is_there = std::any_of(there.begin(), there.end(), [&](const standing& s) {
      return s.name == name && s.owner == f.owner && s.expires > at_.lease_now();
    });
    if (f.name == name && lives(f) && !is_there)
      violated("a request to release has ended a claim", name, f.token);
  }
}

void ledger::note_requests(const std::vector<store::client_notification>& notifications) const {
  for (const store::client_notification& each : notifications)
    if (each.message.kind == store::notification_kind::release_requested && on_release_request)
      on_release_request(each.message.owner);
}

}  // namespace holdfast::sim
