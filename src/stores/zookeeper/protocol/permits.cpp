// Permits, by the recipe of Curator's InterProcessSemaphoreV2: the first claim in the queue `locks` creates
// its leases below `leases`, and waits until all leases together fit into the capacity. Only the first claim
// watches the leases, so a release wakes one client.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"
#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

/// The capacity is in the data of `leases`, where other clients read it.
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

/// The claim is first in the queue.
void claim_queue::choose(claim& c, const on_reply& handler, int tries) {
  c.now = claim::phase::choosing;
  c.settled = false;
  c.watched = false;  // its place may be watched, its leases are not yet
  const std::string leases = c.leases_path();
  std::vector<operation> steps;
  steps.reserve(static_cast<std::size_t>(weight_of(c.request)) + 2);
  for (std::int64_t i = 0; i < weight_of(c.request); ++i) {
    steps.push_back({.kind = kind::create,
                     .path = leases + '/' + node_name(style_, role::lease, c.guid),
                     .data = data_of(c.request),
                     .make = operation::made::sequential});
  }
  steps.push_back({.kind = kind::list, .path = leases});
  steps.push_back({.kind = kind::get, .path = leases});
  nodes_.submit_all(std::move(steps),
                    [this, ref = claim_table::ref_of(c), handler, tries](const std::vector<result>& results) {
                      chosen(ref, handler, tries, results);
                    });
}

void claim_queue::chosen(const claim_ref& ref, const on_reply& handler, int tries,
                         const std::vector<result>& results) {
  claim* const c = claims_.find(ref);
  if (c == nullptr || c->now != claim::phase::choosing) {
    if (handler) handler(session_ended(true));
    return;
  }
  const auto count = static_cast<std::size_t>(weight_of(c->request));
  if (results[0].code == answer::no_node && tries < most_tries) {
    // Another client may have made the parent before the others of them came.
    for (std::size_t i = 1; i < count; ++i) {
      if (results[i].code == answer::done) reaper_.remove(results[i].path);
    }
    return nodes_.make_parents(
        c->leases_path(), [this, ref, handler, tries](const std::optional<store::request_error>& failed) {
          claim* const again = claims_.find(ref);
          if (again == nullptr) {
            if (handler) handler(session_ended(false));
            return;
          }
          if (failed) return start_over(*again, handler, *failed);
          choose(*again, handler, tries + 1);
        });
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const result& r = results[i];
    if (r.code == answer::node_exists) return begin_leases_anew(*c, handler);
    if (r.code != answer::done) return start_over(*c, handler, request_error_of(r));
    if (i >= count) continue;
    if (!contender_at(style_, c->leases_path(), r.path)) return start_over(*c, handler, misnamed(r));
    c->leases.push_back(r.path);
    claims_.own(r.path, *c);
    c->token = std::max(c->token, token_of(r.about));
  }
  const std::vector<std::string>& present = results[count].children;
  const auto agreed = capacity_in(results[count + 1]);
  c->written_capacity = agreed;
  if (present.size() > count && agreed && agreed != capacity_of(c->request))
    return refuse_capacity(*c, handler, *agreed);
  if (present.size() <= static_cast<std::size_t>(capacity_of(c->request))) return have_permits(*c, handler);
  if (!c->request.wait) return fail_entry(*c, handler, tickets::reply{tickets::refused{}});
  count_leases(*c);
  if (handler) {
    handler(tickets::reply{place_of(c->token, false)});
  }
}

/// Ends a claim that asks for another capacity than the holders have. If it was queued, no request waits for
/// the answer: the next look gets it. If such claims came anew instead, they could overtake each other for
/// ever.
void claim_queue::refuse_capacity(claim& c, const on_reply& handler, std::int64_t agreed) {
  const tickets::reply other = tickets::other_capacity{agreed};
  if (handler) return fail_entry(c, handler, other);
  const owner_id owner = c.request.owner;
  verdicts_.insert_or_assign(owner, other);  // a claim that leaves meanwhile forgets it
  remove(c, [this, owner](const tickets::link::outcome&) {
    if (on_notification_) on_notification_({owner, store::notification_kind::look, {}});
  });
}

/// Watches the leases, and counts them again: some may have gone before the watch was set.
void claim_queue::count_leases(claim& c) {
  const std::string leases = c.leases_path();
  c.settled = false;
  c.awaited = leases;
  awaited_[leases].insert(c.request.owner);
  const bool room = nodes_.has_room(leases, watch_kind::children);
  std::vector<operation> steps{{.kind = kind::list, .path = leases, .watch = room}};
  watch_load planned;
  const bool watched = c.watched || can_watch(nodes_of(c), planned);
  if (!c.watched) {
    for (const std::string& path : nodes_of(c)) steps.push_back(nodes_.look_at(path, watched));
  }
  if (!room) polling_.add(c);
  nodes_.submit_all(
      std::move(steps), [this, ref = claim_table::ref_of(c), watched](const std::vector<result>& results) {
        claim* const waiting = claims_.find(ref);
        if (waiting == nullptr || waiting->now != claim::phase::choosing) return;
        bool unread = false;
        for (const result& r : results) {
          if (r.code == answer::no_node) return revoke(*waiting);
          if (r.code == answer::refused && &r == results.data())
            return come_anew(*waiting);  // the next request reports the reason
          if (r.code == answer::refused) {
            unread = nodes_.set_unreadable(r.path) || unread;
          } else if (r.code != answer::done) {
            return unsettle(*waiting);
          }
        }
        if (unread) return count_leases(*waiting);
        waiting->watched = watched;
        waiting->settled = true;
        if (results[0].children.size() <= static_cast<std::size_t>(capacity_of(waiting->request)))
          have_permits(*waiting, nullptr);
      });
}

/// Whether all of these nodes of the claim can be watched, besides those that are planned already.
/// \param planned gets them added, if so.
bool claim_queue::can_watch(const std::vector<std::string>& paths, watch_load& planned) const {
  watch_load together = planned;
  for (const std::string& path : paths) {
    if (!nodes_.is_readable(path)) return false;
    together.add(path);
  }
  if (!nodes_.has_room_for_own(together)) return false;
  planned = together;
  return true;
}

/// The leases fit into the capacity: grants the permits, and lets the next claim of the queue come.
void claim_queue::have_permits(claim& c, const on_reply& handler) {
  stop_waiting(c);
  const std::string gate = c.place_path();
  if (c.written_capacity != capacity_of(c.request)) {
    nodes_.submit({.kind = kind::set, .path = c.leases_path(), .data = capacity_note(capacity_of(c.request))},
                  [](const result&) {});
  }
  hold(c);
  claims_.disown(gate);
  c.place.reset();
  c.gate = gate;
  reaper_.remove(gate);
  if (!handler) return notify(c, store::notification_kind::look, {});
  handler(tickets::reply{place_of(c.token, true)});
}

/// Starts over after a failure: removes the nodes that may exist. If the claim still waits, it comes anew.
void claim_queue::start_over(claim& c, const on_reply& handler, const store::request_error& reason) {
  if (handler && reason.maybe_executed) {  // the caller will ask for the outcome
    c.now = claim::phase::unsure;
    return handler(reason);
  }
  const owner_id owner = c.request.owner;
  abandon(c, [this, owner, handler, reason](const tickets::link::outcome&) {
    if (handler) return handler(reason);
    if (on_notification_) on_notification_({owner, store::notification_kind::look, {}});
  });
}

/// Two of its leases got the same number, because the numbers of `leases` are used up. As in `make_room`.
void claim_queue::begin_leases_anew(claim& c, const on_reply& handler) {
  const owner_id owner = c.request.owner;
  abandon(c, [this, owner, handler, waits = c.request.wait,
              leases = c.leases_path()](const tickets::link::outcome&) {
    nodes_.submit({.kind = kind::remove, .path = leases}, [](const result&) {});
    if (!handler && on_notification_) on_notification_({owner, store::notification_kind::look, {}});
    if (!handler) return;
    if (!waits) return handler(tickets::reply{tickets::refused{}});
    handler(no_numbers_below(leases));
  });
}

/// Refuses a claim of another kind while the name is in use as a semaphore.
void claim_queue::refuse_other_kind(claim& c, const on_reply& handler,
                                    const std::vector<std::string>& children) {
  std::vector<operation> steps;
  if (std::find(children.begin(), children.end(), "leases") != children.end()) {
    steps.push_back({.kind = kind::get, .path = c.leases_path()});
    steps.push_back({.kind = kind::list, .path = c.leases_path()});
  }
  if (std::find(children.begin(), children.end(), "locks") != children.end()) {
    steps.push_back({.kind = kind::list, .path = c.base + "/locks"});
  }
  nodes_.submit_all(
      std::move(steps), [this, ref = claim_table::ref_of(c), handler](const std::vector<result>& results) {
        claim* const found = claims_.find(ref);
        if (found == nullptr) return handler(session_ended(true));
        bool used = false;
        std::int64_t capacity = 0;
        for (const result& r : results) {
          if (is_error(r)) {
            found->now = claim::phase::unsure;
            return handler(store::request_error{request_error_of(r).reason, true, true});
          }
          used = used || std::any_of(r.children.begin(), r.children.end(), looks_like_contender);
          capacity = std::max(capacity, capacity_in(r).value_or(0));
        }
        if (used) return fail_entry(*found, handler, tickets::reply{tickets::other_capacity{capacity}});
        settle(*found, handler);
      });
}

}  // namespace holdfast::zookeeper
