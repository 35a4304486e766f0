// How a claim waits: behind whom, and what is watched meanwhile.

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/zookeeper/protocol/claims.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

/// Those ahead that are asked after one by one. Where there are more, one list says it as well.
constexpr std::size_t few = 16;

/// Who waits without a watch looks in turn: so many of a client, so often.
constexpr std::size_t most_polled = 128;
constexpr std::chrono::milliseconds poll_pause{200};

}  // namespace

/// Watches its own node and the nearest ahead, and asks after the others where they may have gone since they
/// were seen.
void session::wait_behind(claim& c, extent asks) {
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
    // One watch of a node serves all that wait for it, and its own claim.
    const bool armed = (awaited_.contains(path) || is_watched_by_its_claim(path)) &&
                       nodes_.is_watched(path, watch_kind::node);
    const bool room = nodes_.is_readable(path) && nodes_.has_room(path, watch_kind::node);
    if (c.awaited != path) stop_waiting(c);
    c.awaited = path;
    awaited_[path].insert(c.asked.owner);
    if (asks != extent::fresh || (!armed && room)) {
      look_at(ahead.nearest.front(), room);
      if (room) watched = path;
    }
    if (!room) poll_later(c);
  }
  if (asks == extent::all) {
    const bool list = ahead.count > few || line_of(c).ahead.may_lack_readers();
    if (list) steps.push_back({.kind = kind::list, .path = c.queue});
    for (std::size_t i = 1; !list && i < ahead.nearest.size(); ++i) look_at(ahead.nearest[i], false);
    if (!list) {
      for (const std::string& node : line_of(c).ahead.possible_readers(*c.place)) look_at(node, false);
    }
  }
  if (steps.empty()) {
    if (ahead.count == 0) return move_up(c);  // another claim's list has told so meanwhile
    c.settled = true;
    return;
  }
  nodes_.submit_all(std::move(steps), [this, who = ref_of(c), looked_at = std::move(looked_at),
                                       watched = std::move(watched)](const std::vector<result>& results) {
    waited(who, looked_at, watched, results);
    // Whoever wanted it may have given up meanwhile, when there was no watch yet that could have been ended.
    if (!watched.empty() && !awaited_.contains(watched)) unwatch(watched, watch_kind::node);
  });
}

void session::waited(const ref& who, const std::vector<std::string>& looked_at, const std::string& watched,
                     const std::vector<result>& results) {
  const auto waits = [&] {
    const claim* const it = find(who);
    return it != nullptr && it->now == state::waiting;
  };
  // Others may rely on the watch that it has asked for, first of all, and does not need any more.
  const bool is_for_others = !watched.empty() && awaited_.contains(watched);
  if (is_for_others && (!waits() || find(who)->awaited != watched)) {
    watch_answered(watched, results.front().code);
  }
  if (!waits()) return;
  claim* const c = find(who);
  contender_queue& ahead = line_of(*c).ahead;
  bool nearest_is_gone = false;
  bool nearest_is_unread = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    if (r.code == answer::unknown || r.code == answer::not_sent) return unsettle(*c);
    if (i >= looked_at.size()) {
      // Where the nearest is gone, others have to know first; it comes here again as it moves up.
      if (r.code == answer::refused && !nearest_is_gone) {
        if (nearest_is_unread) unsettle_behind(std::string{c->awaited});
        return come_anew(*c);  // which tells why
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
      // It is there, and cannot be watched: the servers send no event of a node to those who may not read it.
      // Whether it is there may be asked by everybody.
      nodes_.set_unreadable(c->awaited);
      nearest_is_unread = c->awaited == watched;
    }
  }
  // There is no watch on what is not there: whoever else relies on it has to know.
  if (nearest_is_gone) return node_gone(std::string{c->awaited});
  if (nearest_is_unread) {
    unsettle_behind(std::string{c->awaited});  // whoever relies on the watch looks for itself
    return wait_behind(*c, extent::nearest);
  }
  if (c->awaited.empty()) return move_up(*c);
  c->settled = true;
}

/// Whoever relies on a watch hears that it could not be set.
void session::watch_answered(const std::string& path, answer how) {
  switch (how) {
    case answer::no_node: return node_gone(path);
    case answer::refused: nodes_.set_unreadable(path); return unsettle_behind(path);
    case answer::unknown:
    case answer::not_sent: return unsettle_behind(path);
    default: return;
  }
}

bool session::is_watched_by_its_claim(const std::string& path) const {
  const auto mine = own_nodes_.find(path);
  if (mine == own_nodes_.end()) return false;
  const auto found = claims_.find(mine->second.owner);
  return found != claims_.end() && found->second.serial == mine->second.serial && found->second.watched;
}

/// The node of a claim that waits. Where it cannot be watched, it is looked at when its turn comes.
void session::watch_own(claim& c) {
  if (c.watched) return;
  const std::string path = c.queue + '/' + c.place->node;
  if (!nodes_.is_readable(path)) return;
  if (!nodes_.has_room_for_own(path)) return;
  c.watched = true;
  nodes_.submit_all(
      {nodes_.look_at(path, true)}, [this, who = ref_of(c), path](const std::vector<result>& results) {
        const result& r = results[0];
        if (claim* const mine = find(who); mine != nullptr) {
          if (r.code != answer::done) mine->watched = false;
          if (r.code == answer::unknown || r.code == answer::not_sent) unsettle(*mine);
          const bool is_anothers = r.code == answer::done && r.about.session != nodes_.session();
          if (r.code == answer::no_node || is_anothers) revoke(*mine);
        }
        watch_answered(path, r.code);  // those behind it rely on this watch
      });
}

/// Whether what it waits for is watched is not known: it looks again with the next connection, and so do all
/// that rely on the same watch.
void session::unsettle(claim& c) {
  if (c.now != state::waiting && c.now != state::choosing) return;
  c.settled = false;
  if (nodes_.is_connected()) poll_later(c);
  unsettle_behind(std::string{c.awaited});
}

void session::unsettle_behind(const std::string& path) {
  const auto found = awaited_.find(path);
  if (found == awaited_.end()) return;
  const std::set<owner_id> all = std::move(found->second);
  awaited_.erase(found);
  for (const owner_id& owner : all) {
    const auto other = claims_.find(owner);
    if (other == claims_.end()) continue;
    other->second.settled = false;
    other->second.awaited.clear();
    if (nodes_.is_connected()) poll_later(other->second);
  }
}

/// Looks, after a while, at what cannot be watched.
void session::poll_later(claim& c) {
  if (!std::exchange(c.polled, true)) unwatched_.push_back(ref_of(c));
  if (next_poll_ == 0) next_poll_ = time_.at(time_.now() + poll_pause, [this] { poll(); });
}

void session::poll() {
  next_poll_ = 0;
  for (std::size_t left = nodes_.is_connected() ? std::min(unwatched_.size(), most_polled) : 0; left > 0;
       --left) {
    const ref who = unwatched_.front();
    unwatched_.pop_front();
    claim* const c = find(who);
    if (c == nullptr) continue;
    c->polled = false;
    if (c->now == state::waiting) {
      wait_behind(*c, c->settled ? extent::nearest : extent::all);
    } else if (c->now == state::choosing && !makes_leases(*c)) {
      count_leases(*c);
    }
  }
  if (!unwatched_.empty() && next_poll_ == 0) {
    next_poll_ = time_.at(time_.now() + poll_pause, [this] { poll(); });
  }
}

/// A node of ours is gone. Who waits for it and has no watch of it need not find that out.
void session::went(const std::string& path) {
  if (awaited_.contains(path) && !nodes_.is_watched(path, watch_kind::node)) {
    node_gone(path);
  }
}

/// Whoever it waited for is gone: to the next ahead, or in.
void session::move_up(claim& c) {
  if (!is_first(c)) return wait_behind(c, extent::all);
  if (c.watched) return come_in(c);
  // Nobody has noticed what became of its own node meanwhile.
  nodes_.submit_all({{.kind = kind::exists, .path = c.queue + '/' + c.place->node}},
                    [this, who = ref_of(c)](const std::vector<result>& results) {
                      claim* const mine = find(who);
                      if (mine == nullptr || mine->now != state::waiting) return;
                      const result& r = results[0];
                      if (r.code == answer::unknown || r.code == answer::not_sent) return unsettle(*mine);
                      if (r.code == answer::no_node || r.about.session != nodes_.session())
                        return revoke(*mine);
                      if (!is_first(*mine)) return wait_behind(*mine, extent::all);
                      come_in(*mine);
                    });
}

bool session::is_first(claim& c) {
  const contender_queue& ahead = line_of(c).ahead;
  const bool sure = c.place->wants == role::reader || !ahead.may_lack_readers();
  return sure && ahead.possible_readers(*c.place).empty() && ahead.before(*c.place, 1).count == 0;
}

void session::come_in(claim& c) {
  if (is_semaphore(c.asked)) return choose(c, nullptr, 0);
  const fencing_token token = c.token;
  hold(c);
  tell(c, store::notice::granted, token);
}

/// It leaves, and asks again at once, by which it is told what is wrong.
void session::come_anew(claim& c) {
  const owner_id owner = c.asked.owner;
  const fencing_token token = c.token;
  remove(c, [this, owner, token](const tickets::link::outcome&) {
    if (told_) told_(owner, {store::notice::look, token});
  });
}

void session::stop_waiting(claim& c) {
  if (c.awaited.empty()) return;
  const auto found = awaited_.find(c.awaited);
  if (found != awaited_.end()) {
    found->second.erase(c.asked.owner);
    if (found->second.empty()) {
      awaited_.erase(found);
      unwatch(c.awaited, c.awaited == c.base + "/leases" ? watch_kind::children : watch_kind::node);
    }
  }
  c.awaited.clear();
}

void session::unwatch(const std::string& path, watch_kind kind) {
  nodes_.forget_unreadable(path);
  if (own_nodes_.contains(path)) return;  // the claim that it belongs to needs the same watch
  if (nodes_.is_watched(path, kind)) nodes_.end_watch(path, kind);
}

/// A claim that waits keeps its place without asking, as long as the session lives; where there is no
/// connection, whoever waits has to hear of that.
void session::look(const tickets::request& what, const on_reply& done) {
  const auto place_now = [this, owner = what.owner, done] {
    const auto found = claims_.find(owner);
    if (found == claims_.end()) return done(tickets::reply{tickets::nothing{}});
    done(tickets::reply{place_of(found->second.token, found->second.now == state::holding)});
  };
  if (nodes_.is_connected()) {
    time_.at(time_.now(), place_now);
    return;
  }
  nodes_.submit_all({{.kind = kind::sync, .path = settings_.top()}},
                    [place_now, done](const std::vector<result>& results) {
                      const result& r = results[0];
                      if (r.code == answer::unknown || r.code == answer::not_sent) return done(trouble_of(r));
                      place_now();
                    });
}

}  // namespace holdfast::zookeeper
