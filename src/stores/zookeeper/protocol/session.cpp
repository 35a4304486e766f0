#include "stores/zookeeper/protocol/session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

using store::time_point;

namespace {

/// Operations of one question that are in flight at once, where it may be of thousands.
constexpr std::size_t part = 256;

}  // namespace

session::session(store::scheduler& time, wire& to, settings s)
    : time_{time},
      wire_{to},
      settings_{std::move(s)},
      liveness_{time, to, settings_.top(), settings_.timeout} {}

session::~session() {
  time_.cancel(next_poll_);
  time_.cancel(next_look_below_);
}

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
    case tickets::task::inspect: return inspect(what, done);
    case tickets::task::list: return list(what, done);
  }
}

/// Sends all at once, and goes on when all are answered.
void session::ask(std::vector<operation> what, then done) {
  struct batch {
    std::vector<result> results;
    then done;
  };
  const auto shared = std::make_shared<batch>();
  shared->done = std::move(done);
  const std::size_t size = what.size();
  for (operation& each : what) {
    if (!each.watch) {
      wire_.submit(std::move(each), [shared, size](result r) {
        shared->results.push_back(std::move(r));
        if (shared->results.size() == size) shared->done(std::move(shared->results));
      });
      continue;
    }
    const auto which =
        each.kind == operation_kind::list ? watch_table::kind::children : watch_table::kind::node;
    const std::string path = each.path;
    watches_.sent(path, which);
    wire_.submit(std::move(each), [this, shared, size, path, which](result r) {
      if (r.code == answer::done) {
        watches_.set(path, which);
      } else {
        watches_.failed(path, which);
      }
      shared->results.push_back(std::move(r));
      if (shared->results.size() == size) shared->done(std::move(shared->results));
    });
  }
}

/// As `ask`, of any number of operations.
void session::ask_in_parts(const std::shared_ptr<std::vector<operation>>& what, std::vector<result> so_far,
                           then done) {
  if (so_far.size() == what->size()) return done(std::move(so_far));
  const auto from = what->begin() + static_cast<std::ptrdiff_t>(so_far.size());
  const auto size = std::min<std::ptrdiff_t>(what->end() - from, part);
  ask({from, from + size}, [this, what, all = std::make_shared<std::vector<result>>(std::move(so_far)),
                            done = std::move(done)](std::vector<result> results) {
    std::move(results.begin(), results.end(), std::back_inserter(*all));
    ask_in_parts(what, std::move(*all), done);
  });
}

/// Those above and the node itself, as containers: the servers remove them some time after the last child.
void session::make_parents(const std::string& path, std::function<void(std::optional<store::trouble>)> done) {
  std::vector<operation> makings;
  std::vector<std::string> all = parents_of(path);
  all.push_back(path);
  makings.reserve(all.size());
  for (std::string& each : all) {
    // What it says tells people that a lock was here, when nobody claims it any more.
    const bool lock = &each == &all.back();
    makings.push_back({.kind = operation_kind::create,
                       .path = std::move(each),
                       .data = lock ? to_text(note{}) : std::string{},
                       .make = operation::made::container});
  }
  ask(std::move(makings), [done = std::move(done)](const std::vector<result>& results) {
    // Above a chroot, nobody may create and nothing has to be created; the lowest one counts.
    const result& last = results.back();
    const bool there = last.code == answer::done || last.code == answer::node_exists;
    if (there) return done(std::nullopt);
    const auto why = std::find_if(results.begin(), results.end(), [](const result& r) {
      return r.code != answer::done && r.code != answer::node_exists;
    });
    done(trouble_of(*why));
  });
}

// ---- what the wire tells

void session::connected(std::int64_t id, duration timeout, time_point began) {
  if (id_ != 0 && id_ != id) expired();
  const bool is_new = id_ == 0;
  id_ = id;
  connected_ = true;
  liveness_.connected(timeout, began, is_new);
  for (const std::string& path : std::set<std::string>{doomed_}) doom(path);
  for (const auto& [path, children] : std::exchange(unwanted_, {})) {
    if (!awaited_.contains(path)) unwatch(path, children);
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
  if (changed_) {
    watched_below_.clear();
    watch_below(settings_.top());
  }
}

void session::disconnected() {
  connected_ = false;
  liveness_.disconnected();
}

void session::expired() {
  connected_ = false;
  id_ = 0;
  liveness_.expired();
  nodes_.clear();
  lines_.clear();
  awaited_.clear();
  unwanted_.clear();
  doomed_.clear();
  orphans_.clear();
  watched_below_.clear();
  watches_.clear();
  unreadable_.clear();
  unwatched_.clear();
  time_.cancel(std::exchange(next_poll_, 0));
  // Nothing of the old session is taken over into a new one: its nodes are gone, or going.
  for (const auto& [owner, c] : std::exchange(claims_, {})) {
    if (c.now != state::leaving) tell(c, store::notice::revoked, c.token);
  }
  end_arrivals();
}

void session::happened(const std::string& path, change what) {
  if (what != change::children) watches_.remove(path, watch_table::kind::node);
  if (what != change::data) watches_.remove(path, watch_table::kind::children);
  unreadable_.erase(path);
  if (const auto mine = nodes_.find(path); mine != nodes_.end()) {
    claim* const c = find(mine->second);
    if (c != nullptr && what == change::removed) {
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
    if (what == change::removed && queue != lines_.end()) queue->second.ahead.gone(path.substr(slash + 1));
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
  if (what == change::removed && watched_below_.erase(path) != 0 && path == settings_.root) watch_below(path);
  if (what == change::children && watched_below_.erase(path) != 0) watch_below(path);
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
    const auto found = nodes_.find(path);
    if (found != nodes_.end() && found->second.serial == c.serial) nodes_.erase(found);
    if (!awaited_.contains(path)) unreadable_.erase(path);
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
