// How a claim enters its queue, and is found again after a lost answer.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

role role_of(const store::claim& r) {
  if (is_semaphore(r)) return role::mutex;  // its role in the queue; its leases make the hold
  if (r.mode == mode::shared) return role::reader;
  if (r.election) return role::latch;
  return r.shareable ? role::writer : role::mutex;
}

store::request_error mixed_layout(const std::string& path, const std::string& node) {
  return {{errc::wrong_type, "contenders of another layout (" + node + ") stand below " + path +
                                 "; give all clients of this lock the same 'layout'"},
          false,
          false};
}

/// A different guid for each new entry of an owner, so that a node of the last entry is never mistaken for
/// the new one.
owner_id guid_of(const owner_id& owner, std::uint64_t serial) {
  owner_id::bytes_type bytes{};
  std::copy_n(owner.bytes().begin(), owner_id::size, bytes.begin());
  for (std::size_t i = 0; i < sizeof serial; ++i) {
    bytes[i] ^= static_cast<std::uint8_t>(serial >> (8 * i));
  }
  return marked_as_ours(owner_id{bytes});
}

}  // namespace

void claim_queue::acquire(const store::claim& request, const on_reply& handler) {
  claim& c = claims_.add(request);
  c.guid = guid_of(request.owner, c.serial);
  c.base = path_of(root_, request.name);
  c.queue = is_semaphore(request) ? c.base + "/locks" : c.base;
  ++line_of(c).claims;
  arrivals_.add({claim_table::ref_of(c), handler});
}

std::optional<arrivals::creation> claim_queue::begin_creation(const claim_ref& ref) {
  claim* const c = claims_.find(ref);
  if (c == nullptr) return std::nullopt;
  c->sent = true;
  return arrivals::creation{c->queue,
                            c->base,
                            {.kind = kind::create,
                             .path = c->queue + '/' + node_name(style_, role_of(c->request), c->guid),
                             .data = data_of(c->request),
                             .make = operation::made::sequential}};
}

listing claim_queue::read_queue(const std::string& queue, std::vector<result> lists, bool is_current) {
  listing l;
  l.queue = std::move(lists[0]);
  const std::vector<std::string>& children = l.queue.children;
  const auto line = lines_.find(queue);
  if (l.queue.code == answer::done && is_current && line != lines_.end())
    l.stranger = line->second.ahead.read(children);
  if (lists.size() > 1) {  // of permits: contenders for a mutex may be in the lock's node, too
    const std::vector<std::string>& beside = lists[1].children;
    l.other_kind = std::any_of(beside.begin(), beside.end(), looks_like_contender);
  } else {
    l.other_kind = std::any_of(children.begin(), children.end(), [](const std::string& child) {
      return child == "leases" || child == "locks";
    });
  }
  return l;
}

void claim_queue::entered(const arrival& a, const listing& l) {
  const auto& [ref, handler, tries, made] = a;
  claim* const c = claims_.find(ref);
  // The session has ended meanwhile, and the new node with it.
  if (c == nullptr) return handler(session_ended(true));
  // The creation is answered before the later listing; otherwise the connection has broken.
  const result own_node = made ? *made
                               : result{.code = answer::unknown,
                                        .path = c->queue,
                                        .reason = {errc::unavailable, "the connection broke"}};
  if (own_node.code == answer::no_node && tries < most_tries) {
    return nodes_.make_parents(c->queue, [this, again = arrival{ref, handler, tries + 1}](
                                             const std::optional<store::request_error>& failed) {
      claim* const entering = claims_.find(again.ref);
      if (entering == nullptr) return again.handler(session_ended(false));
      if (failed)
        return fail_entry(*entering, again.handler,
                          store::request_error{failed->reason, failed->retryable, false});
      arrivals_.add(again);
    });
  }
  if (own_node.code == answer::unknown) {
    c->now = claim::phase::unsure;
    return handler(request_error_of(own_node));
  }
  // A damaged reply: the node is there, under an unknown number.
  if (own_node.reason.code == errc::corrupt_store) return start_over(*c, handler, request_error_of(own_node));
  if (own_node.code != answer::done) return fail_entry(*c, handler, request_error_of(own_node));

  c->place = contender_at(style_, c->queue, own_node.path);
  if (!c->place) return start_over(*c, handler, misnamed(own_node));
  c->token = token_of(own_node.about);
  claims_.own(own_node.path, *c);
  // A client that may not list the queue must not be in it: others would wait behind it without need.
  if (l.queue.code == answer::refused) return fail_entry(*c, handler, request_error_of(l.queue));
  if (l.queue.code != answer::done) {  // the connection broke in between; the place will be found later
    c->now = claim::phase::unsure;
    return handler(store::request_error{request_error_of(l.queue).reason, true, true});
  }
  if (l.stranger) return fail_entry(*c, handler, mixed_layout(c->queue, *l.stranger));
  if (line_of(*c).ahead.cannot_order(*c->place)) return make_room(*c, handler);
  if (!l.other_kind) return settle(*c, handler);
  if (is_semaphore(c->request))
    return fail_entry(*c, handler, tickets::reply{tickets::other_capacity{store::full_capacity}});
  refuse_other_kind(*c, handler, l.queue.children);
}

/// Removes its nodes.
void claim_queue::fail_entry(claim& c, const on_reply& handler, tickets::link::outcome reply) {
  remove(c, [handler, reply = std::move(reply)](const tickets::link::outcome&) { handler(reply); });
}

/// The numbers of its queue are used up. It comes again later, and removes the parent, so that counting
/// begins anew, if the queue is empty by then: the servers remove no node with children.
void claim_queue::make_room(claim& c, const on_reply& handler) {
  const std::string queue = c.queue;
  if (c.request.wait) {
    fail_entry(c, handler, no_numbers_below(queue));
  } else {
    fail_entry(c, handler, tickets::reply{tickets::refused{}});
  }
  nodes_.submit({.kind = kind::remove, .path = queue}, [](const result&) {});
}

/// The claim is in its queue, which has just been read.
void claim_queue::settle(claim& c, const on_reply& handler) {
  if (line_of(c).ahead.before(*c.place, 1).count == 0) {
    if (is_semaphore(c.request)) return choose(c, handler, 0);
    return grant(c, handler);
  }
  if (!c.request.wait) return fail_entry(c, handler, tickets::reply{tickets::refused{}});
  c.now = claim::phase::waiting;
  wait_behind(c, extent::fresh);
  handler(tickets::reply{place_of(c.token, false)});
}

void claim_queue::hold(claim& c) {
  c.now = claim::phase::holding;
  c.settled = true;
  line_of(c).ahead.holds(*c.place);
  leave_line(c);
}

/// Nobody is ahead of the claim.
void claim_queue::grant(claim& c, const on_reply& handler) {
  stop_waiting(c);
  hold(c);
  if (c.has_unread_request) read_written(c, c.place_path());
  if (handler) return handler(tickets::reply{place_of(c.token, true)});
  notify(c, store::notification_kind::granted, c.token);
}

/// Finds out whether a claim with a lost answer was created: its guid is in its node's name, and the node
/// must be of this session. A node of a former session is gone or will go.
void claim_queue::retrace(const store::hold& request, const on_reply& handler) {
  claim* const found = claims_.find(request.owner);
  if (found == nullptr) return reply_later(handler, tickets::reply{tickets::nothing{}});
  claim& c = *found;
  if (is_semaphore(c.request)) {  // it may have leases, too: removes all nodes, and comes anew
    return abandon(c, [handler](const tickets::link::outcome& o) {
      if (std::holds_alternative<store::request_error>(o)) return handler(o);
      handler(tickets::reply{tickets::nothing{}});
    });
  }
  // The server that answers may lag behind the one that got the request, so it has to catch up first. A
  // `sync` is not enough: a deposed leader that does not know it yet answers a `sync` by itself. A node that
  // is missed here would stay for the session, and all contenders would wait behind it.
  nodes_.submit_all({{.kind = kind::agree, .path = "/"}, {.kind = kind::list, .path = c.queue}},
                    [this, ref = claim_table::ref_of(c), handler](const std::vector<result>& results) {
                      claim* const unsure = claims_.find(ref);
                      if (unsure == nullptr) return handler(tickets::reply{tickets::nothing{}});
                      if (!is_agreed(results[0])) return handler(request_error_of(results[0]));
                      const result& queue = results[1];
                      if (is_error(queue)) return handler(request_error_of(queue));
                      // At once: before the next answer another claim may read a later list.
                      line_of(*unsure).ahead.read(queue.children);
                      const std::vector<contender> there = made_with(style_, unsure->guid, queue.children);
                      if (there.empty()) return forget_unsure(*unsure, handler);
                      retrace_node(*unsure, there.front(), handler);
                    });
}

/// A node with the guid of the claim is in its queue.
void claim_queue::retrace_node(claim& c, const contender& place, const on_reply& handler) {
  nodes_.submit_all({{.kind = kind::exists, .path = c.queue + '/' + place.node}},
                    [this, ref = claim_table::ref_of(c), handler, place](const std::vector<result>& results) {
                      claim* const found = claims_.find(ref);
                      if (found == nullptr) return handler(tickets::reply{tickets::nothing{}});
                      const result& node = results[0];
                      if (is_unanswered(node)) return handler(request_error_of(node));
                      if (node.code != answer::done || node.about.session != nodes_.session())
                        return forget_unsure(*found, handler);
                      found->place = place;
                      found->token = token_of(node.about);
                      claims_.own(found->place_path(), *found);
                      if (line_of(*found).ahead.cannot_order(place)) return make_room(*found, handler);
                      settle(*found, [handler](const tickets::link::outcome& o) {
                        // A claim that does not wait has left by now, and asks again to get its refusal.
                        const auto* r = std::get_if<tickets::reply>(&o);
                        if (r != nullptr && std::holds_alternative<tickets::refused>(*r))
                          return handler(tickets::reply{tickets::nothing{}});
                        handler(o);
                      });
                    });
}

/// The claim has no node.
void claim_queue::forget_unsure(claim& c, const on_reply& handler) {
  leave_line(c);
  forget(c);
  handler(tickets::reply{tickets::nothing{}});
}

}  // namespace holdfast::zookeeper
