// How a claim waits: behind which contender, and with which watches.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"
#include "stores/zookeeper/protocol/release_request.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

/// The number of contenders ahead that are read one by one. If there are more, one listing is cheaper.
constexpr std::size_t few = 16;

}  // namespace

/// Watches its own node and the nearest contender ahead, and reads the others if they may have gone since the
/// last read.
void claim_queue::wait_behind(claim& c, extent reads) {
  c.settled = false;
  watch_own(c);
  const contender_queue::ahead ahead = line_of(c).ahead.before(*c.place, few + 1);
  std::vector<operation> steps;
  std::vector<std::string> looked_at;
  std::string watched;
  const auto look_at = [&](const std::string& node, bool watch) {
    steps.push_back(nodes_.look_at(c.queue + '/' + node, watch));
    looked_at.push_back(node);
  };
  if (!ahead.nearest.empty()) {
    const std::string path = c.queue + '/' + ahead.nearest.front();
    // One watch of a node serves all claims that wait for it, and the claim of the node.
    const bool armed = (awaited_.contains(path) || is_watched_by_its_claim(path)) &&
                       nodes_.is_watched(path, watch_kind::node);
    const bool room = nodes_.is_readable(path) && nodes_.has_room(path, watch_kind::node);
    if (c.awaited != path) stop_waiting(c);
    c.awaited = path;
    awaited_[path].insert(c.request.owner);
    if (reads != extent::fresh || (!armed && room)) {
      look_at(ahead.nearest.front(), room);
      if (room) watched = path;
    }
    if (!room) polling_.add(c);
  }
  if (reads == extent::all) {
    const bool list = ahead.count > few || line_of(c).ahead.may_lack_readers();
    if (list) steps.push_back({.kind = kind::list, .path = c.queue});
    for (std::size_t i = 1; !list && i < ahead.nearest.size(); ++i) look_at(ahead.nearest[i], false);
    if (!list) {
      for (const std::string& node : line_of(c).ahead.possible_readers(*c.place)) look_at(node, false);
    }
  }
  if (steps.empty()) {
    if (ahead.count == 0) return move_up(c);  // another claim's listing has shown it meanwhile
    c.settled = true;
    return;
  }
  nodes_.submit_all(std::move(steps), [this, ref = claim_table::ref_of(c), looked_at = std::move(looked_at),
                                       watched = std::move(watched)](const std::vector<result>& results) {
    waited(ref, looked_at, watched, results);
    // The claim that needed the watch may have given up before there was a watch to end.
    if (!watched.empty() && !awaited_.contains(watched)) unwatch(watched, watch_kind::node);
  });
}

void claim_queue::waited(const claim_ref& ref, const std::vector<std::string>& looked_at,
                         const std::string& watched, const std::vector<result>& results) {
  const auto waits = [&] {
    const claim* const waiter = claims_.find(ref);
    return waiter != nullptr && waiter->now == claim::phase::waiting;
  };
  // Other claims may rely on the watch that this claim requested and does not need any more.
  const bool is_for_others = !watched.empty() && awaited_.contains(watched);
  if (is_for_others && (!waits() || claims_.find(ref)->awaited != watched)) {
    watch_answered(watched, results.front().code);
  }
  if (!waits()) return;
  claim* const c = claims_.find(ref);
  contender_queue& ahead = line_of(*c).ahead;
  bool nearest_is_gone = false;
  bool nearest_is_unread = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    if (is_unanswered(r)) return unsettle(*c);
    if (i >= looked_at.size()) {
      // If the nearest is gone, other claims are notified first. This claim comes here again when it moves
      // up.
      if (r.code == answer::refused && !nearest_is_gone) {
        if (nearest_is_unread) unsettle_behind(std::string{c->awaited});
        return come_anew(*c);  // the next request reports the reason
      }
      if (r.code == answer::done) ahead.read(r.children);
      continue;
    }
    if (ahead.is_possible_reader(looked_at[i])) {
      if (r.code == answer::no_node) {
        ahead.did_not_come(looked_at[i]);
      } else {
        ahead.came(looked_at[i]);
      }
      continue;
    }
    const bool is_nearest = c->awaited == c->queue + '/' + looked_at[i];
    if (r.code == answer::no_node) {
      ahead.gone(looked_at[i]);
      nearest_is_gone = nearest_is_gone || is_nearest;
    } else if (r.code == answer::refused && is_nearest) {
      // The node exists and cannot be watched: the servers send a client no events of a node that it may not
      // read. `exists` needs no permission.
      nodes_.set_unreadable(c->awaited);
      nearest_is_unread = c->awaited == watched;
    }
  }
  // A missing node has no watch: other claims that rely on the watch are notified.
  if (nearest_is_gone) return node_gone(std::string{c->awaited});
  if (nearest_is_unread) {
    unsettle_behind(std::string{c->awaited});  // claims that rely on the watch look themselves
    return wait_behind(*c, extent::nearest);
  }
  if (c->awaited.empty()) return move_up(*c);
  c->settled = true;
}

/// Notifies all claims that rely on a watch that it could not be set.
void claim_queue::watch_answered(const std::string& path, answer code) {
  switch (code) {
    case answer::no_node: return node_gone(path);
    case answer::refused: nodes_.set_unreadable(path); return unsettle_behind(path);
    case answer::unknown:
    case answer::not_sent: return unsettle_behind(path);
    default: return;
  }
}

bool claim_queue::is_watched_by_its_claim(const std::string& path) {
  const claim* const c = claims_.owner_of(path);
  return c != nullptr && c->watched;
}

/// Watches the node of a waiting claim. If it cannot be watched, the claim polls it when its turn comes.
void claim_queue::watch_own(claim& c) {
  if (c.watched) return;
  const std::string path = c.place_path();
  if (!nodes_.is_readable(path)) return;
  if (!nodes_.has_room_for_own(path)) return;
  c.watched = true;
  nodes_.submit_all({nodes_.look_at(path, true)}, [this, ref = claim_table::ref_of(c),
                                                   path](const std::vector<result>& results) {
    const result& r = results[0];
    if (claim* const found = claims_.find(ref); found != nullptr) {
      if (r.code != answer::done) found->watched = false;
      if (found->now == claim::phase::holding) take_request(*found, r);
      found->has_unread_request = r.code == answer::done && request_in(r.data).has_value();
      if (is_unanswered(r)) unsettle(*found);
      const bool is_anothers = r.code == answer::done && r.about.session != nodes_.session();
      if (r.code == answer::no_node || is_anothers) revoke(*found);
    }
    watch_answered(path, r.code);  // claims behind it rely on this watch
  });
}

/// Marks a claim whose watch has an unknown outcome: it looks again over the next connection, and so do all
/// claims that rely on the same watch.
void claim_queue::unsettle(claim& c) {
  if (c.now != claim::phase::waiting && c.now != claim::phase::choosing) return;
  c.settled = false;
  if (nodes_.is_connected()) polling_.add(c);
  unsettle_behind(std::string{c.awaited});
}

void claim_queue::unsettle_behind(const std::string& path) {
  const auto found = awaited_.find(path);
  if (found == awaited_.end()) return;
  const std::set<owner_id> all = std::move(found->second);
  awaited_.erase(found);
  for (const owner_id& owner : all) {
    claim* const other = claims_.find(owner);
    if (other == nullptr) continue;
    other->settled = false;
    other->awaited.clear();
    if (nodes_.is_connected()) polling_.add(*other);
  }
}

/// Reads a node that cannot be watched.
void claim_queue::poll(const claim_ref& ref) {
  claim* const c = claims_.find(ref);
  if (c == nullptr) return;
  c->polled = false;
  if (c->now == claim::phase::waiting) {
    wait_behind(*c, c->settled ? extent::nearest : extent::all);
  } else if (c->now == claim::phase::choosing && !c->makes_leases()) {
    count_leases(*c);
  }
}

/// Called when a node of this client is gone. Claims of this client that wait for it without a watch move up
/// at once.
void claim_queue::went(const std::string& path) {
  if (awaited_.contains(path) && !nodes_.is_watched(path, watch_kind::node)) {
    node_gone(path);
  }
}

/// The awaited contender is gone: waits for the next one ahead, or holds.
void claim_queue::move_up(claim& c) {
  if (!is_first(c)) return wait_behind(c, extent::all);
  if (c.watched) return come_in(c);
  // Without a watch, its own node may have been removed meanwhile.
  nodes_.submit_all({{.kind = kind::exists, .path = c.place_path()}},
                    [this, ref = claim_table::ref_of(c)](const std::vector<result>& results) {
                      claim* const found = claims_.find(ref);
                      if (found == nullptr || found->now != claim::phase::waiting) return;
                      const result& r = results[0];
                      if (is_unanswered(r)) return unsettle(*found);
                      if (r.code == answer::no_node || r.about.session != nodes_.session())
                        return revoke(*found);
                      if (!is_first(*found)) return wait_behind(*found, extent::all);
                      come_in(*found);
                    });
}

bool claim_queue::is_first(claim& c) {
  const contender_queue& ahead = line_of(c).ahead;
  const bool sure = c.place->wants == role::reader || !ahead.may_lack_readers();
  return sure && ahead.possible_readers(*c.place).empty() && ahead.before(*c.place, 1).count == 0;
}

void claim_queue::come_in(claim& c) {
  if (is_semaphore(c.request)) return choose(c, nullptr, 0);
  grant(c, nullptr);
}

/// Leaves the queue and asks again at once. The answer to that request reports the failure.
void claim_queue::come_anew(claim& c) {
  const owner_id owner = c.request.owner;
  remove(c, [this, owner](const tickets::link::outcome&) {
    // Without a token: that of the claim may have risen with its leases, which the owner does not know.
    if (on_notification_) on_notification_({owner, store::notification_kind::look, {}});
  });
}

void claim_queue::stop_waiting(claim& c) {
  if (c.awaited.empty()) return;
  const auto found = awaited_.find(c.awaited);
  if (found != awaited_.end()) {
    found->second.erase(c.request.owner);
    if (found->second.empty()) {
      awaited_.erase(found);
      unwatch(c.awaited, c.awaited == c.leases_path() ? watch_kind::children : watch_kind::node);
    }
  }
  c.awaited.clear();
}

void claim_queue::unwatch(const std::string& path, watch_kind kind) {
  nodes_.forget_unreadable(path);
  if (claims_.owns(path)) return;  // the claim of the node needs the same watch
  if (kind == watch_kind::children && others_watch_(path)) return;
  if (nodes_.is_watched(path, kind)) nodes_.end_watch(path, kind);
}

/// Answers a look. A waiting claim keeps its place without requests while the session lives. Without a
/// connection the look fails, so that the waiter notices it.
void claim_queue::look(const store::hold& request, const on_reply& handler) {
  const auto place_now = [this, owner = request.owner, handler] {
    if (const auto verdict = verdicts_.extract(owner)) return handler(verdict.mapped());
    const claim* const found = claims_.find(owner);
    if (found == nullptr) return handler(tickets::reply{tickets::nothing{}});
    handler(tickets::reply{place_of(found->token, found->now == claim::phase::holding)});
  };
  if (nodes_.is_connected()) {
    time_.at(time_.now(), place_now);
    return;
  }
  nodes_.submit_all({{.kind = kind::sync, .path = top()}},
                    [place_now, handler](const std::vector<result>& results) {
                      const result& r = results[0];
                      if (is_unanswered(r)) return handler(request_error_of(r));
                      place_now();
                    });
}

}  // namespace holdfast::zookeeper
