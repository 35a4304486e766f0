#include "stores/zookeeper/protocol/claim_queue.hpp"

#include <utility>

namespace holdfast::zookeeper {

claim_queue::claim_queue(store::scheduler& time, ordered_nodes& nodes, std::string root, layout style,
                         std::function<bool(const std::string&)> others_watch)
    : time_{time},
      nodes_{nodes},
      others_watch_{std::move(others_watch)},
      root_{std::move(root)},
      style_{style},
      reaper_{nodes, style, [this](const std::string& path) { removed(path); }},
      arrivals_{time, nodes, *this},
      polling_{time, [this] { return nodes_.is_connected(); }, [this](const claim_ref& ref) { poll(ref); }} {}

void claim_queue::reply_later(const on_reply& handler, tickets::link::outcome reply) {
  time_.at(time_.now(), [handler, reply = std::move(reply)] { handler(reply); });
}

// ---- the session

void claim_queue::connected() {
  reaper_.resume_removals();
  for (const auto& [path, kind] : nodes_.take_unwanted_watches()) {
    if (!awaited_.contains(path)) unwatch(path, kind);
  }
  reaper_.resume_searches();
  std::vector<claim_ref> unsettled;
  for (const auto& [owner, c] : claims_.all()) {
    const bool waits = c.now == claim::phase::waiting || c.now == claim::phase::choosing;
    if (waits && !c.settled) unsettled.push_back(claim_table::ref_of(c));
  }
  for (const claim_ref& ref : unsettled) {
    claim* const c = claims_.find(ref);
    if (c == nullptr) continue;
    if (c->now == claim::phase::waiting) {
      wait_behind(*c, extent::all);
    } else if (!c->makes_leases()) {
      count_leases(*c);
    }
  }
}

/// A new session takes over nothing of the old one, whose nodes are gone or will go.
void claim_queue::expired() {
  lines_.clear();
  awaited_.clear();
  reaper_.expired();
  polling_.clear();
  for (const auto& [owner, c] : claims_.take()) {
    if (c.now != claim::phase::leaving) notify(c, store::notification_kind::revoked, c.token);
  }
  arrivals_.expired();
}

void claim_queue::happened(const std::string& path, change event) {
  claim* const owner = claims_.owner_of(path);
  if (owner != nullptr && event == change::removed) {
    revoke(*owner);
  } else if (owner != nullptr) {
    owner->watched = false;  // the node was written to; the next renewal or wait watches it again
    if (owner->now == claim::phase::waiting) watch_own(*owner);
    if (owner->now == claim::phase::holding) read_written(*owner, path);
  }
  const auto waited_for = awaited_.find(path);
  if (waited_for == awaited_.end()) return;
  const std::set<owner_id> waiters = std::move(waited_for->second);
  awaited_.erase(waited_for);
  const std::size_t slash = path.rfind('/');
  const auto queue = lines_.find(path.substr(0, slash));
  if (event == change::removed && queue != lines_.end()) queue->second.ahead.gone(path.substr(slash + 1));
  for (const owner_id& each : waiters) {
    claim* const c = claims_.find(each);
    if (c == nullptr) continue;
    c->settled = false;
    c->awaited.clear();
    if (c->now == claim::phase::choosing)
      count_leases(*c);
    else if (c->now == claim::phase::waiting)
      move_up(*c);
  }
}

/// Handles the end of a node of which no event was delivered.
void claim_queue::node_gone(const std::string& path) {
  nodes_.forget_watch(path);
  happened(path, change::removed);
}

// ---- claims

void claim_queue::notify(const claim& c, store::notification_kind kind, fencing_token token) const {
  if (on_notification_) on_notification_({c.request.owner, kind, token});
}

/// The known nodes of a claim, with the reader's node of a downgrade without an answer.
std::vector<std::string> claim_queue::nodes_of(const claim& c) const {
  std::vector<std::string> all = c.leases;
  if (reaper_.is_pending(c.gate)) all.push_back(c.gate);  // other contenders still wait behind it
  if (!c.place) return all;
  all.push_back(c.place_path());
  if (c.lowers()) {
    all.push_back(c.queue + '/' + downgraded(style_, c.place->number, c.guid));
  }
  return all;
}

void claim_queue::forget(const claim& c) {
  for (const std::string& path : nodes_of(c)) {
    claims_.disown(path, c);
    if (!awaited_.contains(path)) nodes_.forget_unreadable(path);
  }
  claims_.erase(c);
}

void claim_queue::leave_line(claim& c) {
  if (!std::exchange(c.queued, false)) return;
  const auto found = lines_.find(c.queue);
  if (--found->second.claims == 0) lines_.erase(found);
}

/// Handles the removal of one of its nodes by another client.
void claim_queue::revoke(const claim& gone) {
  if (gone.now == claim::phase::leaving || gone.now == claim::phase::entering ||
      gone.now == claim::phase::unsure)
    return;
  claim& c = *claims_.find(gone.request.owner);
  const owner_id owner = c.request.owner;
  const fencing_token token = c.token;
  stop_waiting(c);
  leave_line(c);
  // Removes its other nodes, such as those of other permits.
  const std::vector<std::string> rest = nodes_of(c);
  if (c.makes_leases()) reaper_.search(orphan_of(c), [](const std::optional<store::request_error>&) {});
  forget(c);
  for (const std::string& path : rest) reaper_.remove(path);
  if (on_notification_) on_notification_({owner, store::notification_kind::revoked, token});
}

}  // namespace holdfast::zookeeper
