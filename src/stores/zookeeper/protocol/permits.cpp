// Permits, by the recipe of Curator's InterProcessSemaphoreV2: whoever is first in the queue `locks` makes
// its leases below `leases`, and waits there until they are no more than the capacity all in all. Only the
// first watches the leases, so that a release wakes one.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claims.hpp"
#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

/// The capacity that others have agreed on stays in the data of `leases`.
std::optional<std::int64_t> capacity_in(const result& leases) {
  const auto n = read_note(leases.data);
  return n && n->capacity != 0 ? std::optional{n->capacity} : std::nullopt;
}

std::string capacity_note(std::int64_t capacity) {
  note n;
  n.capacity = capacity;
  return to_text(n);
}

}  // namespace

/// It is first in the queue.
void session::choose(claim& c, const on_reply& done, int tries) {
  c.now = state::choosing;
  c.settled = false;
  c.watched = false;  // its place in the queue may be, its leases are not yet
  const std::string leases = c.base + "/leases";
  std::vector<operation> steps;
  steps.reserve(static_cast<std::size_t>(c.asked.weight) + 2);
  for (std::int64_t i = 0; i < c.asked.weight; ++i) {
    steps.push_back({.kind = kind::create,
                     .path = leases + '/' + node_name(settings_.layout, role::lease, c.guid),
                     .data = data_of(c.asked),
                     .make = operation::made::sequential});
  }
  steps.push_back({.kind = kind::list, .path = leases});
  steps.push_back({.kind = kind::get, .path = leases});
  nodes_.submit_all(std::move(steps),
                    [this, who = ref_of(c), done, tries](const std::vector<result>& results) {
                      chosen(who, done, tries, results);
                    });
}

void session::chosen(const ref& who, const on_reply& done, int tries, const std::vector<result>& results) {
  claim* const c = find(who);
  if (c == nullptr || c->now != state::choosing) {
    if (done) done(store::trouble{{errc::unavailable, "the session ended"}, true, true});
    return;
  }
  const auto count = static_cast<std::size_t>(c->asked.weight);
  if (results[0].code == answer::no_node && tries < most_tries) {
    return nodes_.make_parents(
        c->base + "/leases", [this, who, done, tries](const std::optional<store::trouble>& failed) {
          claim* const again = find(who);
          if (again == nullptr) {
            if (done) done(store::trouble{{errc::unavailable, "the session ended"}, true, false});
            return;
          }
          if (failed) return start_over(*again, done, *failed);
          choose(*again, done, tries + 1);
        });
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    if (r.code == answer::node_exists) return begin_leases_anew(*c, done);
    if (r.code != answer::done) return start_over(*c, done, trouble_of(r));
    if (i >= count) continue;
    c->leases.push_back(r.path);
    own(r.path, *c);
    c->token = std::max(c->token, token_of(r.about));
  }
  const std::vector<std::string>& present = results[count].children;
  const auto agreed = capacity_in(results[count + 1]);
  const std::string leases = c->base + "/leases";
  if (agreed != c->asked.capacity) {
    if (present.size() > count && agreed) {
      const tickets::reply other = tickets::other_capacity{*agreed};
      if (done) return fail_entry(*c, done, other);
      return come_anew(*c);
    }
    nodes_.submit({.kind = kind::set, .path = leases, .data = capacity_note(c->asked.capacity)},
                  [](const result&) {});
  }
  if (present.size() <= static_cast<std::size_t>(c->asked.capacity)) return have_permits(*c, done);
  if (!c->asked.wait) return fail_entry(*c, done, tickets::reply{tickets::refused{}});
  count_leases(*c);
  if (done) {
    done(tickets::reply{place_of(c->token, false)});
  }
}

/// Watches the leases, and counts them once more: some may have gone before the watch was set.
void session::count_leases(claim& c) {
  const std::string leases = c.base + "/leases";
  c.settled = false;
  c.awaited = leases;
  awaited_[leases].insert(c.asked.owner);
  const bool room = nodes_.has_room(leases, watch_kind::children);
  std::vector<operation> steps{{.kind = kind::list, .path = leases, .watch = room}};
  watch_load planned;
  const bool watched = c.watched || can_watch(nodes_of(c), planned);
  if (!c.watched) {
    for (const std::string& path : nodes_of(c)) steps.push_back(nodes_.look_at(path, watched));
  }
  if (!room) poll_later(c);
  nodes_.submit_all(std::move(steps), [this, who = ref_of(c), watched](const std::vector<result>& results) {
    claim* const waiting = find(who);
    if (waiting == nullptr || waiting->now != state::choosing) return;
    bool unread = false;
    for (const result& r : results) {
      if (r.code == answer::no_node) return revoke(*waiting);
      if (r.code == answer::refused && &r == results.data()) return come_anew(*waiting);  // which tells why
      if (r.code == answer::refused) {
        unread = nodes_.set_unreadable(r.path) || unread;
      } else if (r.code != answer::done) {
        return unsettle(*waiting);
      }
    }
    if (unread) return count_leases(*waiting);
    waiting->watched = watched;
    waiting->settled = true;
    if (results[0].children.size() <= static_cast<std::size_t>(waiting->asked.capacity))
      have_permits(*waiting, nullptr);
  });
}

/// Whether these nodes of its own can be watched, all of them, besides those that are planned already.
/// \param planned has them as well, if so.
bool session::can_watch(const std::vector<std::string>& paths, watch_load& planned) const {
  watch_load together = planned;
  for (const std::string& path : paths) {
    if (!nodes_.is_readable(path)) return false;
    together.add(path);
  }
  if (!nodes_.has_room_for_own(together)) return false;
  planned = together;
  return true;
}

/// The next in the queue may come.
void session::have_permits(claim& c, const on_reply& done) {
  stop_waiting(c);
  const std::string gate = c.queue + '/' + c.place->node;
  hold(c);
  own_nodes_.erase(gate);
  c.place.reset();
  c.gate = gate;
  doom(gate);
  if (!done) return tell(c, store::notice::look, {});
  done(tickets::reply{place_of(c.token, true)});
}

/// In the middle of it something failed; what came about goes, and the claim, if it still waits, comes anew.
void session::start_over(claim& c, const on_reply& done, const store::trouble& why) {
  if (done && why.unknown) {  // whoever asked will ask whether it came about
    c.now = state::unsure;
    return done(why);
  }
  const owner_id owner = c.asked.owner;
  abandon(c, [this, owner, done, why](const tickets::link::outcome&) {
    if (done) return done(why);
    if (told_) told_(owner, {store::notice::look, {}});
  });
}

/// Two of its leases were to have one number: those of `leases` have come to their end. As in `make_room`.
void session::begin_leases_anew(claim& c, const on_reply& done) {
  const owner_id owner = c.asked.owner;
  abandon(c, [this, owner, done, waits = c.asked.wait,
              leases = c.base + "/leases"](const tickets::link::outcome&) {
    nodes_.submit({.kind = kind::remove, .path = leases}, [](const result&) {});
    if (!done && told_) told_(owner, {store::notice::look, {}});
    if (!done) return;
    if (!waits) return done(tickets::reply{tickets::refused{}});
    done(no_numbers_below(leases));
  });
}

/// A name that has been a semaphore is another kind of lock only while nobody uses it as that.
void session::refuse_other_kind(claim& c, const on_reply& done, const std::vector<std::string>& children) {
  std::vector<operation> steps;
  if (std::find(children.begin(), children.end(), "leases") != children.end()) {
    steps.push_back({.kind = kind::get, .path = c.base + "/leases"});
    steps.push_back({.kind = kind::list, .path = c.base + "/leases"});
  }
  if (std::find(children.begin(), children.end(), "locks") != children.end()) {
    steps.push_back({.kind = kind::list, .path = c.base + "/locks"});
  }
  nodes_.submit_all(std::move(steps), [this, who = ref_of(c), done](const std::vector<result>& results) {
    claim* const mine = find(who);
    if (mine == nullptr) return done(store::trouble{{errc::unavailable, "the session ended"}, true, true});
    bool used = false;
    std::int64_t capacity = 0;
    for (const result& r : results) {
      if (is_trouble(r)) {
        mine->now = state::unsure;
        return done(store::trouble{trouble_of(r).what, true, true});
      }
      used = used || std::any_of(r.children.begin(), r.children.end(), looks_like_contender);
      capacity = std::max(capacity, capacity_in(r).value_or(0));
    }
    if (used) return fail_entry(*mine, done, tickets::reply{tickets::other_capacity{capacity}});
    settle(*mine, done);
  });
}

}  // namespace holdfast::zookeeper
