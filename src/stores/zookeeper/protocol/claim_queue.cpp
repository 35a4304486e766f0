// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/claim_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

tickets::place place_of(fencing_token token, bool granted) {
  tickets::place at;
  at.token = token;
  at.granted = granted;
  return at;
}

reaper::orphan orphan_of(const claim& c) {
  return {c.guid, c.queue, c.is_of_permits() ? c.leases_path() : std::string{}};
}

}  // namespace

claim_queue::claim_queue(store::scheduler& time, wire_nodes& nodes, std::string root, layout style,
                         std::function<bool(const std::string&)> others_watch)
    : time_{time},
      nodes_{nodes},
      root_{std::move(root)},
      style_{style},
      reaper_{nodes, style, [this](const std::string& path) { removed(path); }},
      claims_{nodes, style, std::move(others_watch)},
      arrivals_{time, nodes, claims_,
                [this](const auto& served, std::vector<result> lists, bool is_current) {
                  entered(served, std::move(lists), is_current);
                }},
      polling_{time, nodes, [this](const claim_ref& ref) { poll(ref); }} {}

void claim_queue::reply_later(const on_reply& handler, tickets::link::outcome reply) {
  time_.at(time_.now(), [handler, reply = std::move(reply)]() mutable { handler(std::move(reply)); });
}

void claim_queue::notify(const owner_id& owner, store::notification_kind kind, fencing_token token) const {
  if (on_notification_) on_notification_({owner, kind, token});
}

// ---- the session

void claim_queue::connected() {
  reaper_.resume();
  for (const auto& [path, kind] : nodes_.take_unwanted_watches()) claims_.end_unneeded(path, kind);
  std::vector<claim_ref> unsettled;
  for (const auto& [owner, c] : claims_.all()) {
    if (c.is(claim::state::reading) || c.is(claim::state::counting)) unsettled.push_back(c.ref());
  }
  for (const claim_ref& ref : unsettled) poll(ref);
}

/// A new session takes over nothing of the old one, whose nodes are gone or will go.
void claim_queue::expired() {
  lines_.clear();
  reaper_.expired();
  polling_.clear();
  for (const auto& [owner, c] : claims_.take()) {
    if (!c.is(claim::state::leaving)) notify(owner, store::notification_kind::revoked, c.token());
  }
  arrivals_.expired();
}

void claim_queue::happened(const std::string& path, change event) {
  claim* const owner = claims_.owner_of(path);
  if (owner != nullptr && event == change::removed) revoke(*owner);
  if (owner != nullptr && event != change::removed) read_own(*owner, path);
  if (!claims_.awaits(path)) return;
  for (const owner_id& each : claims_.take_waiters(path)) {
    claim* const c = claims_.find(each);
    if (c != nullptr) carry_out(*c, c->awaited_changed(path, event), nullptr);
  }
}

/// Handles the end of a node of which no event was delivered.
void claim_queue::node_gone(const std::string& path) {
  nodes_.happened(path, change::removed);
  happened(path, change::removed);
}

// ---- requests

void claim_queue::acquire(const store::claim& wish, const on_reply& handler) {
  claim_identity own{wish, claims_.next_serial(), style_, path_of(root_, wish.name)};
  std::weak_ptr<contender_queue>& known = lines_[own.queue];
  std::shared_ptr<contender_queue> line = known.lock();
  if (!line) known = line = std::make_shared<contender_queue>(style_);
  arrivals_.add({claims_.add({std::move(own), std::move(line)}).ref(), handler});
}

/// Finds out whether a claim with a lost answer was created.
void claim_queue::find(const store::hold& hold, const on_reply& handler) {
  claim* const unsure = claims_.find(hold.owner);
  if (unsure == nullptr) return reply_later(handler, tickets::reply{tickets::nothing{}});
  if (!unsure->is(claim::state::unsure)) return look(hold, handler);  // it has been answered since
  if (!unsure->is_of_permits()) return send(*unsure, unsure->search(), handler);
  // It may have leases, too: removes all nodes, and comes anew.
  abandon(*unsure, [handler](tickets::link::outcome&& o) {
    if (std::holds_alternative<store::request_error>(o)) return handler(std::move(o));
    handler(tickets::reply{tickets::nothing{}});
  });
}

/// A waiting claim keeps its place without requests while the session lives. Without a connection the look
/// fails, so that the waiter notices it.
void claim_queue::look(const store::hold& hold, const on_reply& handler) {
  const auto place_now = [this, owner = hold.owner, handler] {
    if (const auto verdict = verdicts_.extract(owner)) return handler(verdict.mapped());
    const claim* const found = claims_.find(owner);
    if (found == nullptr) return handler(tickets::reply{tickets::nothing{}});
    handler(tickets::reply{place_of(found->token(), found->is(claim::state::holding))});
  };
  if (nodes_.is_connected()) {
    time_.at(time_.now(), place_now);
    return;
  }
  nodes_.submit({.kind = kind::sync, .path = top_of(root_)}, [place_now, handler](const result& r) {
    if (is_unanswered(r)) return handler(request_error_of(r));
    place_now();
  });
}

/// Confirms that the claims still hold. Their nodes are watched, and one answer of the leader proves that all
/// earlier events have been delivered. Nodes that are not watched yet, or cannot be, are read after that.
void claim_queue::renew(const tickets::renew& request, const on_reply& handler) {
  std::vector<operation> steps{{.kind = kind::sync, .path = top_of(root_)}};
  std::vector<claim_ref> claims{{}};  // by step
  std::size_t planned_bytes = 0;
  for (const store::hold& h : request.holds) {
    claim* const c = claims_.find(h.owner);
    if (c == nullptr) continue;
    for (operation& step : c->confirm(nodes_, planned_bytes)) {
      steps.push_back(std::move(step));
      claims.push_back(c->ref());
    }
  }
  nodes_.submit_all(std::move(steps), [this, request, claims = std::move(claims),
                                       handler](const std::vector<result>& results) {
    bool unread = false;
    for (std::size_t i = 1; i < results.size(); ++i) {
      unread = unread || (results[i].code == answer::refused && nodes_.is_readable(results[i].path));
      own_read(claims_.find(claims[i]), results[i]);
    }
    if (is_error(results[0])) return handler(request_error_of(results[0]));
    const auto cut = std::find_if(results.begin(), results.end(), is_unanswered);
    if (cut != results.end()) return handler(request_error_of(*cut));
    if (unread) return renew(request, handler);  // `exists` needs no permission
    tickets::kept kept;
    for (const store::hold& h : request.holds) {
      const claim* const c = claims_.find(h.owner);
      kept.each.push_back(c != nullptr && c->is(claim::state::holding));
    }
    handler(tickets::reply{std::move(kept)});
  });
}

void claim_queue::leave(const store::hold& hold, const on_reply& handler) {
  verdicts_.erase(hold.owner);
  claim* const c = claims_.find(hold.owner);
  if (c == nullptr || c->is(claim::state::coming)) {
    if (c != nullptr) forget(*c);
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  }
  if (c->is(claim::state::entering) || c->is(claim::state::unsure) || c->is(claim::state::taking))
    return abandon(*c, handler);
  remove(*c, handler);
}

void claim_queue::downgrade(const store::hold& hold, const on_reply& handler) {
  claim* const c = claims_.find(hold.owner);
  if (c == nullptr || !c->is(claim::state::holding))
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  const claim::next n = c->downgrade();
  if (n.is == claim::next::answer) return reply_later(handler, n.reply);
  send(*c, n.send, handler);
}

void claim_queue::annotate(const tickets::annotate& request, const on_reply& handler) {
  claim* const c = claims_.find(request.owner);
  if (c == nullptr || !c->is(claim::state::holding))
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  nodes_.submit(c->annotate(request.metadata), [this, ref = c->ref(), handler](const result& r) {
    if (r.code == answer::no_node) node_gone(r.path);  // others wait behind it, too
    if (claims_.find(ref) == nullptr ||
        r.code == answer::no_node)  // or a downgrade has replaced it meanwhile
      return handler(tickets::reply{tickets::nothing{}});
    if (is_error(r)) return handler(request_error_of(r));
    handler(tickets::reply{tickets::done{}});
  });
}

// ---- answers, and actions

/// The nodes of these claims were sent before their queue was listed.
void claim_queue::entered(const std::vector<arrivals::arrival_ptr>& all, std::vector<result> lists,
                          bool is_current) {
  listing l{std::move(lists[0])};
  const std::vector<std::string>& children = l.queue.children;
  if (l.queue.code == answer::done && is_current) {
    const auto known = lines_.find(l.queue.path);
    const auto line = known == lines_.end() ? nullptr : known->second.lock();
    if (line) l.stranger = line->read(children);
  }
  if (lists.size() > 1) {  // of permits: contenders for a mutex may be in the lock's node, too
    const std::vector<std::string>& beside = lists[1].children;
    l.other_kind = std::any_of(beside.begin(), beside.end(), looks_like_contender);
  } else {
    l.other_kind = std::any_of(children.begin(), children.end(), [](const std::string& child) {
      return child == "leases" || child == "locks";
    });
  }
  for (const arrivals::arrival_ptr& a : all) {
    if (!a->handler) continue;
    claim* const c = claims_.find(a->ref);
    // The session has ended meanwhile, and the new node with it.
    if (c == nullptr) {
      a->handler(session_ended(true));
      continue;
    }
    carry_out(*c, c->entered(a->made, l), a->handler);
  }
}

/// \param handler null, or waits for the answer.
void claim_queue::send(const claim& c, const claim::batch& b, const on_reply& handler) {
  nodes_.submit_all(b.steps, [this, ref = c.ref(), then = b.then, if_gone = b.if_gone,
                              handler](const std::vector<result>& results) {
    claim* const found = claims_.find(ref);
    if (found == nullptr) {
      if (handler) handler(tickets::link::outcome{if_gone});
      return;
    }
    carry_out(*found, then(*found, results, nodes_), handler);
  });
}

/// \param handler null, or waits for the answer.
void claim_queue::carry_out(claim& c, const claim::next& n, const on_reply& handler) {
  using next = claim::next;
  for (const std::string& path : n.strays) reaper_.remove(path);
  const fencing_token token = c.token();
  switch (n.is) {
    case next::nothing: return;
    case next::ask: return send(c, n.send, handler);
    case next::answer:
      if (handler) handler(tickets::link::outcome{n.reply});
      return;
    case next::enter: return arrivals_.add({c.ref(), handler});
    case next::make_parents:
      return nodes_.make_parents(n.parent, [this, ref = c.ref(), handler](const auto& failed) {
        claim* const found = claims_.find(ref);
        if (found != nullptr) return carry_out(*found, found->parents_made(failed), handler);
        if (handler) handler(session_ended(false));
      });
    case next::wait:
    case next::count:
      if (n.is == next::wait) wait_behind(c, n.reads);
      if (n.is == next::count) count_leases(c);
      if (handler) handler(tickets::reply{place_of(token, false)});
      return;
    case next::hold: return hold(c, n.send.steps, handler);
    case next::unsettle: return unsettle(c);
    case next::awaited_gone: return node_gone(claims_.awaited_by(c));
    case next::pass_request:
      for (const operation& step : n.send.steps) nodes_.submit(step);
      return notify(c.wish.owner, store::notification_kind::release_requested, token);
    case next::revoke: return revoke(c);
    case next::refuse:
    case next::start_over: return end(c, n, handler);
    case next::forget: forget(c); return handler(tickets::reply{tickets::nothing{}});
  }
}

// ---- waiting

/// Watches its own node and the nearest contender ahead, and reads the others if they may have gone since the
/// last read.
void claim_queue::wait_behind(claim& c, claim::extent reads) {
  c.unsettle();
  if (!c.is_watched()) read_own(c, c.place_path());
  const std::string nearest = c.nearest();
  const bool is_watched = claims_.is_watched(nearest);
  const bool has_room = nodes_.is_readable(nearest) && nodes_.has_room(nearest, watch_kind::node);
  if (!nearest.empty()) {
    claims_.await(c, nearest, watch_kind::node);
    if (!has_room) polling_.add(c.ref());
  }
  std::vector<operation> steps = c.read_ahead(reads, nodes_, is_watched, has_room);
  if (!steps.empty()) {
    const bool watches = steps.front().watch;
    return nodes_.submit_all(std::move(steps),
                             [this, ref = c.ref(), watches](const std::vector<result>& results) {
                               ahead_read(ref, watches, results);
                             });
  }
  // Another claim's listing has shown meanwhile that nobody is ahead.
  if (nearest.empty()) carry_out(c, c.move_up(c.is_watched()), nullptr);
}

void claim_queue::ahead_read(const claim_ref& ref, bool watches, const std::vector<result>& results) {
  const result& nearest = results.front();
  const auto waiter = [&] {
    claim* const c = claims_.find(ref);
    return c != nullptr && c->is_waiting() ? c : nullptr;
  };
  // Other claims may rely on the watch that this claim requested and does not need any more.
  const bool is_for_others = watches && claims_.awaits(nearest.path);
  if (is_for_others && (waiter() == nullptr || claims_.awaited_by(*waiter()) != nearest.path))
    watch_answered(nearest);
  if (claim* const c = waiter(); c != nullptr) {
    const std::string awaited = claims_.awaited_by(*c);
    const claim::next n = c->ahead_read(awaited, watches, results, nodes_);
    // Claims that rely on the watch look themselves.
    if (watches && awaited == nearest.path && nearest.code == answer::refused) unsettle_behind(awaited);
    carry_out(*c, n, nullptr);
  }
  // The claim that needed the watch may have given up before there was a watch to end.
  if (watches) claims_.end_unneeded(nearest.path, watch_kind::node);
}

void claim_queue::count_leases(claim& c) {
  claims_.await(c, c.leases_path(), watch_kind::children);
  const claim::batch b = c.count(nodes_);
  if (!b.steps.front().watch) polling_.add(c.ref());
  send(c, b, nullptr);
}

void claim_queue::read_own(claim& c, const std::string& path) {
  const auto step = c.read_own(path, nodes_);
  if (!step) return;
  const bool held = c.is(claim::state::holding);
  nodes_.submit_all({*step}, [this, ref = c.ref(), held](const std::vector<result>& results) {
    claim* const found = claims_.find(ref);
    if (held && (found == nullptr || !found->is(claim::state::holding))) return;
    own_read(found, results.front());
  });
}

/// One of the nodes of a claim was read. Claims behind it rely on its watch.
void claim_queue::own_read(claim* c, const result& r) {
  if (c != nullptr) carry_out(*c, c->own_read(r, nodes_.session()), nullptr);
  watch_answered(r);
}

/// Notifies all claims that rely on a watch that it could not be set.
void claim_queue::watch_answered(const result& r) {
  if (r.code == answer::no_node) return node_gone(r.path);
  if (r.code == answer::refused) nodes_.set_unreadable(r.path);
  if (r.code == answer::refused || is_unanswered(r)) unsettle_behind(r.path);
}

/// A read has an unknown outcome: the claim looks again over the next connection, and so do all claims that
/// rely on the same watch.
void claim_queue::unsettle(claim& c) {
  if (c.look_again().is == claim::next::nothing) return;  // it does not wait
  c.unsettle();
  if (nodes_.is_connected()) polling_.add(c.ref());
  unsettle_behind(claims_.awaited_by(c));
}

void claim_queue::unsettle_behind(const std::string& path) {
  for (const owner_id& owner : claims_.take_waiters(path)) {
    claim* const c = claims_.find(owner);
    if (c == nullptr) continue;
    c->unsettle();
    if (nodes_.is_connected()) polling_.add(c->ref());
  }
}

/// Reads again what could not be watched, or was not answered.
void claim_queue::poll(const claim_ref& ref) {
  if (claim* const c = claims_.find(ref); c != nullptr) carry_out(*c, c->look_again(), nullptr);
}

// ---- grants, and ends

void claim_queue::hold(claim& c, const std::vector<operation>& writes, const on_reply& handler) {
  claims_.stop_waiting(c);
  for (const operation& step : writes) nodes_.submit(step);
  const bool is_asked_to_release = c.hold();
  leave_line(c.queue);
  if (!c.gate().empty()) reaper_.remove(c.gate());  // lets the next claim of the queue come
  if (is_asked_to_release) read_own(c, c.place_path());
  if (!handler && !c.gate().empty()) return notify(c.wish.owner, store::notification_kind::look, {});
  if (!handler) return notify(c.wish.owner, store::notification_kind::granted, c.token());
  handler(tickets::reply{place_of(c.token(), true)});
}

/// Removes its nodes, and replies. If it was queued and asks for another capacity than the holders have, the
/// next look gets the reply: if such claims came anew instead, they could overtake each other for ever.
void claim_queue::end(claim& c, const claim::next& n, const on_reply& handler) {
  const auto* const refusal = std::get_if<tickets::reply>(&n.reply);
  const auto* const failed = std::get_if<store::request_error>(&n.reply);
  const bool starts_over = n.is == claim::next::start_over;
  if (starts_over && handler && failed != nullptr && failed->maybe_executed)
    return handler(c.doubt(*failed).reply);
  if (!handler && refusal != nullptr && std::holds_alternative<tickets::other_capacity>(*refusal))
    verdicts_.insert_or_assign(c.wish.owner, *refusal);  // a claim that leaves meanwhile forgets it
  const auto remove_parent = [this, parent = n.parent] {
    if (!parent.empty()) nodes_.submit({.kind = kind::remove, .path = parent});
  };
  const auto ended = [this, owner = c.wish.owner, handler, reply = n.reply](const tickets::link::outcome&) {
    if (handler) return handler(tickets::link::outcome{reply});
    // The claim is asked for again at once, and the next answer reports the reason. Without a token: that of
    // the claim may have risen with its leases, which the owner does not know.
    notify(owner, store::notification_kind::look, {});
  };
  if (!starts_over && nodes_of(c).empty()) {
    claims_.stop_waiting(c);
    forget(c);
    remove_parent();
    return ended(tickets::reply{tickets::nothing{}});
  }
  if (!starts_over) {
    remove(c, ended);
    return remove_parent();
  }
  abandon(c, [remove_parent, ended](const tickets::link::outcome& o) {
    remove_parent();
    ended(o);
  });
}

/// Handles the removal of one of its nodes by another client.
void claim_queue::revoke(claim& c) {
  if (c.is(claim::state::leaving) || c.is(claim::state::entering) || c.is(claim::state::unsure)) return;
  const owner_id owner = c.wish.owner;
  const fencing_token token = c.token();
  claims_.stop_waiting(c);
  // Removes its other nodes, such as those of other permits.
  const std::vector<std::string> rest = nodes_of(c);
  if (c.is(claim::state::taking))
    reaper_.search(orphan_of(c), [](const std::optional<store::request_error>&) {});
  forget(c);
  for (const std::string& path : rest) reaper_.remove(path);
  notify(owner, store::notification_kind::revoked, token);
}

/// Removes its known nodes. Nodes that could not be removed without a connection are removed over the next
/// one.
void claim_queue::remove(claim& c, on_reply handler) {
  claims_.stop_waiting(c);
  c.leave();
  leave_line(c.queue);
  const std::vector<std::string> paths = nodes_of(c);
  if (paths.empty()) {
    forget(c);
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  }
  std::vector<operation> removals;
  for (const std::string& path : paths) removals.push_back({.kind = kind::remove, .path = path});
  nodes_.submit_all(std::move(removals), [this, ref = c.ref(),
                                          handler = std::move(handler)](const std::vector<result>& results) {
    for (const result& r : results) {
      if (!is_error(r)) went(r.path);
      if (is_error(r) && claims_.find(ref) != nullptr) reaper_.remove_again_later(r.path);
    }
    const auto failed = std::find_if(results.begin(), results.end(), is_error);
    if (failed != results.end()) {  // it will be carried out some time; the outcome is unknown until then
      store::request_error reason = request_error_of(*failed);
      reason.maybe_executed = true;
      return handler(reason);
    }
    if (claim* const left = claims_.find(ref); left != nullptr) forget(*left);
    const bool any =
        std::any_of(results.begin(), results.end(), [](const result& r) { return r.code == answer::done; });
    if (any) return handler(tickets::reply{tickets::done{}});
    handler(tickets::reply{tickets::nothing{}});
  });
}

/// Its nodes may exist, or may still be created, under unknown numbers.
void claim_queue::abandon(claim& c, on_reply handler) {
  claims_.stop_waiting(c);
  const reaper::orphan lost = orphan_of(c);
  const std::vector<std::string> known = nodes_of(c);
  forget(c);
  reaper_.search(
      lost, [this, known, handler = std::move(handler)](const std::optional<store::request_error>& failed) {
        if (!failed) return handler(tickets::reply{tickets::done{}});
        // A client without the permission to list finds nothing. The known nodes are removed all the same, so
        // that others do not wait behind them.
        if (failed->reason.code == errc::permission_denied) {
          for (const std::string& path : known) reaper_.remove(path);
        }
        handler(*failed);
      });
}

void claim_queue::forget(const claim& c) {
  for (const std::string& path : nodes_of(c)) {
    if (!claims_.awaits(path)) nodes_.forget_unreadable(path);
  }
  const std::string queue = c.queue;
  claims_.erase(c);
  leave_line(queue);
}

/// The contenders of a queue are forgotten with the last claim in it.
void claim_queue::leave_line(const std::string& queue) {
  if (const auto found = lines_.find(queue); found != lines_.end() && found->second.expired())
    lines_.erase(found);
}

/// The known nodes of a claim; of permits with the gate, while other contenders still wait behind it.
std::vector<std::string> claim_queue::nodes_of(const claim& c) const {
  std::vector<std::string> all = c.nodes();
  if (reaper_.is_pending(c.gate())) all.push_back(c.gate());
  return all;
}

/// A node of this client is gone. Claims of this client that wait for it without a watch move up at once.
void claim_queue::went(const std::string& path) {
  if (claims_.awaits(path) && !nodes_.is_watched(path, watch_kind::node)) node_gone(path);
}

/// Called when a node is removed. A claim has left only when the last of its nodes is gone.
void claim_queue::removed(const std::string& path) {
  went(path);
  claim* const c = claims_.owner_of(path);
  if (c == nullptr || !c->is(claim::state::leaving)) return;
  const std::vector<std::string> all = nodes_of(*c);
  const bool any_left = std::any_of(all.begin(), all.end(),
                                    [this](const std::string& each) { return reaper_.is_pending(each); });
  if (!any_left) forget(*c);
}

}  // namespace holdfast::zookeeper
