// How a claim waits: behind whom, and what is watched meanwhile.

#include <utility>

#include "protocol/zookeeper/claims.hpp"
#include "protocol/zookeeper/session.hpp"

namespace holdfast::zookeeper {

using kind = operation::kind;

namespace {

/// Those ahead that are asked after one by one. Where there are more, one list says it as well.
constexpr std::size_t few = 16;

}  // namespace

/// Watches its own node and the nearest ahead, and asks after the others where they may have gone since they
/// were seen.
/// \param fresh all who are remembered were there a moment ago.
void session::wait_behind(claim& c, bool fresh) {
  c.settled = false;
  const roster::ahead ahead = line_of(c).ahead.before(*c.place, few + 1);
  std::vector<operation> steps;
  std::vector<std::string> looked_at;
  std::string watched;
  const auto get = [&](const std::string& node, bool watch) {
    steps.push_back({.what = kind::get, .path = c.queue + '/' + node, .watch = watch});
    looked_at.push_back(node);
  };
  if (!c.watched) get(c.place->node, true);
  if (!ahead.nearest.empty()) {
    const std::string path = c.queue + '/' + ahead.nearest.front();
    // One watch of a node serves all that wait for it.
    const bool armed = awaited_.contains(path);
    if (c.awaited != path) stop_waiting(c);
    c.awaited = path;
    awaited_[path].insert(c.asked.owner);
    if (!armed || !fresh) {
      get(ahead.nearest.front(), true);
      watched = path;
    }
  }
  if (!fresh) {
    const bool list = ahead.count > few || line_of(c).ahead.may_lack_readers();
    if (list) steps.push_back({.what = kind::list, .path = c.queue});
    for (std::size_t i = 1; !list && i < ahead.nearest.size(); ++i) get(ahead.nearest[i], false);
  }
  if (steps.empty()) {
    if (ahead.count == 0) return move_up(c);  // another claim's list has told so meanwhile
    c.settled = true;
    return;
  }
  ask(std::move(steps), [this, who = ref_of(c), looked_at = std::move(looked_at),
                         watched = std::move(watched)](const std::vector<result>& results) {
    waited(who, looked_at, results);
    // Whoever wanted it may have given up meanwhile, when there was no watch yet that could have been ended.
    if (!watched.empty() && !awaited_.contains(watched)) unwatch(watched, false);
  });
}

void session::waited(const ref& who, const std::vector<std::string>& looked_at,
                     const std::vector<result>& results) {
  claim* const c = find(who);
  if (c == nullptr || c->now != state::waiting) return;
  const std::string own_node = c->place->node;
  roster& ahead = line_of(*c).ahead;
  bool nearest_is_gone = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    if (r.how == answer::unknown || r.how == answer::not_sent) return unsettle(*c);
    if (i >= looked_at.size()) {
      if (r.how == answer::done) ahead.read(r.children);
    } else if (looked_at[i] == own_node) {
      if (r.how == answer::no_node || (r.how == answer::done && r.about.session != id_)) return revoke(*c);
      c->watched = true;
    } else if (r.how == answer::no_node) {
      ahead.gone(looked_at[i]);
      nearest_is_gone = nearest_is_gone || c->awaited == c->queue + '/' + looked_at[i];
    }
  }
  // There is no watch on what is not there: whoever else relies on it has to know.
  if (nearest_is_gone) return happened(std::string{c->awaited}, change::removed);
  if (c->awaited.empty()) return move_up(*c);
  c->settled = true;
}

/// Whether what it waits for is watched is not known: it looks again with the next connection, and so do all
/// that rely on the same watch.
void session::unsettle(claim& c) {
  c.settled = false;
  const auto found = awaited_.find(c.awaited);
  if (found == awaited_.end()) return;
  const std::set<owner_id> all = std::move(found->second);
  awaited_.erase(found);
  for (const owner_id& owner : all) {
    const auto other = claims_.find(owner);
    if (other == claims_.end()) continue;
    other->second.settled = false;
    other->second.awaited.clear();
  }
}

/// Whoever it waited for is gone: to the next ahead, or in.
void session::move_up(claim& c) {
  const roster& ahead = line_of(c).ahead;
  const bool sure = c.place->wants == role::reader || !ahead.may_lack_readers();
  if (!sure || ahead.before(*c.place, 1).count != 0) return wait_behind(c, false);
  if (is_semaphore(c.asked)) return choose(c, nullptr, 0);
  const fencing_token token = c.token;
  hold(c);
  tell(c, store::notice::granted, token);
}

void session::stop_waiting(claim& c) {
  if (c.awaited.empty()) return;
  const auto found = awaited_.find(c.awaited);
  if (found != awaited_.end()) {
    found->second.erase(c.asked.owner);
    if (found->second.empty()) {
      awaited_.erase(found);
      unwatch(c.awaited, c.awaited == c.base + "/leases");
    }
  }
  c.awaited.clear();
}

/// A watch outlives its connection. Where it could not be ended for lack of one, it is with the next, or a
/// release would wake many in the end.
void session::unwatch(const std::string& path, bool children) {
  if (nodes_.contains(path)) return;  // the claim that it belongs to needs the same watch
  wire_.submit({.what = kind::unwatch, .path = path, .children = children},
               [this, path, children, id = id_](const result& r) {
                 const bool cut_off = r.how == answer::unknown || r.how == answer::not_sent;
                 if (cut_off && id == id_) unwanted_[path] = children;
               });
}

/// A claim that waits keeps its place without asking, as long as the session lives; where there is no
/// connection, whoever waits has to hear of that.
void session::look(const tickets::request& what, const on_reply& done) {
  const auto place_now = [this, owner = what.owner, done] {
    const auto found = claims_.find(owner);
    if (found == claims_.end()) return done(tickets::reply{tickets::nothing{}});
    done(tickets::reply{place_of(found->second.token, found->second.now == state::holding)});
  };
  if (connected_) {
    time_.at(time_.now(), place_now);
    return;
  }
  ask({{.what = kind::sync, .path = top()}}, [place_now, done](const std::vector<result>& results) {
    const result& r = results[0];
    if (r.how == answer::unknown || r.how == answer::not_sent) return done(trouble_of(r));
    place_now();
  });
}

}  // namespace holdfast::zookeeper
