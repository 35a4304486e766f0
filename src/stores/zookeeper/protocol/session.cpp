#include "stores/zookeeper/protocol/session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

using store::time_point;

session::session(store::scheduler& time, wire& to, settings s)
    : time_{time},
      settings_{std::move(s)},
      liveness_{time, to, settings_.top(), settings_.timeout},
      nodes_{to},
      inspection_{nodes_, settings_.root, settings_.layout, [this] { return liveness_.timeout(); }},
      tree_watch_{time, nodes_, settings_.root,
                  [this](const std::string& path) { return awaited_.contains(path); }} {}

session::~session() { time_.cancel(next_poll_); }

void session::send(const tickets::request& what, const on_reply& done) {
  switch (what.what) {
    case tickets::task::acquire: return acquire(what, done);
    case tickets::task::find: return retrace(what, done);
    case tickets::task::look: return look(what, done);
    case tickets::task::renew: return renew(what, done);
    case tickets::task::release:
    case tickets::task::withdraw: return leave(what, done);
    case tickets::task::downgrade: return downgrade(what, done);
    case tickets::task::evict: return evict(what, done);
    case tickets::task::inspect: return inspection_.inspect(what, done);
    case tickets::task::list: return inspection_.list(what, done);
  }
}

// ---- what the wire tells

void session::connected(std::int64_t id, duration timeout, time_point began) {
  if (nodes_.session() != 0 && nodes_.session() != id) expired();
  const bool is_new = nodes_.session() == 0;
  nodes_.connected(id);
  liveness_.connected(timeout, began, is_new);
  for (const std::string& path : std::set<std::string>{doomed_}) doom(path);
  for (const auto& [path, kind] : nodes_.take_unwanted_watches()) {
    if (!awaited_.contains(path)) unwatch(path, kind);
  }
  for (const orphan& each : std::exchange(orphans_, {})) {
    search_and_remove(each, [](const std::optional<store::trouble>&) {});
  }
  std::vector<ref> unsettled;
  for (const auto& [owner, c] : claims_) {
    if ((c.now == state::waiting || c.now == state::choosing) && !c.settled) unsettled.push_back(ref_of(c));
  }
  for (const ref& who : unsettled) {
    claim* const c = find(who);
    if (c == nullptr) continue;
    if (c->now == state::waiting)
      wait_behind(*c, extent::all);
    else if (!makes_leases(*c))
      count_leases(*c);
  }
  tree_watch_.connected();
}

void session::disconnected() {
  nodes_.disconnected();
  liveness_.disconnected();
}

void session::expired() {
  nodes_.expired();
  liveness_.expired();
  tree_watch_.expired();
  own_nodes_.clear();
  lines_.clear();
  awaited_.clear();
  doomed_.clear();
  orphans_.clear();
  unwatched_.clear();
  time_.cancel(std::exchange(next_poll_, 0));
  // Nothing of the old session is taken over into a new one: its nodes are gone, or going.
  for (const auto& [owner, c] : std::exchange(claims_, {})) {
    if (c.now != state::leaving) tell(c, store::notice::revoked, c.token);
  }
  end_arrivals();
}

void session::happened(const std::string& path, change event) {
  nodes_.happened(path, event);
  changed(path, event);
  tree_watch_.happened(path, event);
}

/// A node is gone that a look has missed.
void session::node_gone(const std::string& path) {
  nodes_.forget_watch(path);
  changed(path, change::removed);
}

void session::changed(const std::string& path, change event) {
  if (const auto mine = own_nodes_.find(path); mine != own_nodes_.end()) {
    claim* const c = find(mine->second);
    if (c != nullptr && event == change::removed) {
      revoke(*c);
    } else if (c != nullptr) {
      c->watched = false;  // somebody wrote into it; it is watched again with the next renewal or wait
      if (c->now == state::waiting) watch_own(*c);
    }
  }
  if (const auto waited_for = awaited_.find(path); waited_for != awaited_.end()) {
    const std::set<owner_id> waiters = std::move(waited_for->second);
    awaited_.erase(waited_for);
    const std::size_t slash = path.rfind('/');
    const auto queue = lines_.find(path.substr(0, slash));
    if (event == change::removed && queue != lines_.end()) queue->second.ahead.gone(path.substr(slash + 1));
    for (const owner_id& owner : waiters) {
      const auto found = claims_.find(owner);
      if (found == claims_.end()) continue;
      claim& c = found->second;
      c.settled = false;
      c.awaited.clear();
      if (c.now == state::choosing)
        count_leases(c);
      else if (c.now == state::waiting)
        move_up(c);
    }
  }
}

/// What an operator ends.
void session::evict(const tickets::request& request, const on_reply& handler) {
  inspection_.find_holds(request, [this, handler](const inspection::outcome<inspection::holds>& found) {
    if (const auto* trouble = std::get_if<store::trouble>(&found)) return handler(*trouble);
    const auto& holds = std::get<inspection::holds>(found);
    if (holds.nodes.empty()) return handler(tickets::reply{tickets::count{0}});
    std::vector<operation> removals;
    removals.reserve(holds.nodes.size());
    for (const std::string& path : holds.nodes)
      removals.push_back({.kind = operation_kind::remove, .path = path});
    nodes_.submit_all(std::move(removals),
                      [handler, count = holds.count](const std::vector<result>& results) {
                        const auto failed = std::find_if(results.begin(), results.end(), is_trouble);
                        if (failed != results.end()) return handler(trouble_of(*failed));
                        handler(tickets::reply{tickets::count{count}});
                      });
  });
}

// ---- claims

session::claim* session::find(const ref& who) {
  const auto found = claims_.find(who.owner);
  const bool same = found != claims_.end() && found->second.serial == who.serial;
  return same ? &found->second : nullptr;
}

void session::tell(const claim& c, store::notice what, fencing_token token) const {
  if (told_) told_(c.asked.owner, {what, token});
}

/// Those that are known; of a downgrade that has no answer yet, the one that it makes as well.
std::vector<std::string> session::nodes_of(const claim& c) const {
  std::vector<std::string> all = c.leases;
  if (doomed_.contains(c.gate)) all.push_back(c.gate);  // others wait behind it still
  if (!c.place) return all;
  all.push_back(c.queue + '/' + c.place->node);
  if (lowers(c)) {
    all.push_back(c.queue + '/' + downgraded(settings_.layout, c.place->number, c.guid));
  }
  return all;
}

void session::forget(const claim& c) {
  for (const std::string& path : nodes_of(c)) {
    const auto found = own_nodes_.find(path);
    if (found != own_nodes_.end() && found->second.serial == c.serial) own_nodes_.erase(found);
    if (!awaited_.contains(path)) nodes_.forget_unreadable(path);
  }
  claims_.erase(owner_id{c.asked.owner});  // the end of `c`
}

void session::leave_line(claim& c) {
  if (!std::exchange(c.queued, false)) return;
  const auto found = lines_.find(c.queue);
  if (--found->second.claims == 0) lines_.erase(found);
}

/// Somebody else removed a node of it.
void session::revoke(const claim& gone) {
  if (gone.now == state::leaving || gone.now == state::entering || gone.now == state::unsure) return;
  claim& c = claims_.at(gone.asked.owner);
  const owner_id owner = c.asked.owner;
  const fencing_token token = c.token;
  stop_waiting(c);
  leave_line(c);
  // What is left of it, such as the other permits, is not to stay behind.
  const std::vector<std::string> rest = nodes_of(c);
  if (makes_leases(c)) search_and_remove(orphan_of(c), [](const std::optional<store::trouble>&) {});
  forget(c);
  for (const std::string& path : rest) doom(path);
  if (told_) told_(owner, {store::notice::revoked, token});
}

}  // namespace holdfast::zookeeper
