// How a claim comes, and is found again where the answer was lost.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claims.hpp"
#include "stores/zookeeper/protocol/paths.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

namespace {

role role_of(const tickets::request& r) {
  if (is_semaphore(r)) return role::mutex;  // in the queue; leases are what holds
  if (r.weight != store::whole_room) return role::reader;
  return r.shareable ? role::writer : role::mutex;
}

store::trouble mixed_layout(const std::string& path, const std::string& node) {
  return {{errc::wrong_type, "contenders of another layout (" + node + ") stand below " + path +
                                 "; give all clients of it the same 'layout'"},
          false,
          false};
}

/// Another for each time that an owner comes anew, so that what is left of the last time is never taken for
/// it.
owner_id guid_of(const owner_id& owner, std::uint64_t serial) {
  owner_id::bytes_type bytes{};
  std::copy_n(owner.bytes().begin(), owner_id::size, bytes.begin());
  for (std::size_t i = 0; i < sizeof serial; ++i) {
    bytes[i] ^= static_cast<std::uint8_t>(serial >> (8 * i));
  }
  return marked_as_ours(owner_id{bytes});
}

/// In flight at once, of all queues together.
constexpr std::size_t most_creations = 256;

}  // namespace

void session::acquire(const tickets::request& what, const on_reply& done) {
  claim& c = claims_[what.owner];
  c = {};
  c.serial = ++last_serial_;
  c.asked = what;
  c.guid = guid_of(what.owner, c.serial);
  c.base = path_of(settings_.root, what.name);
  c.queue = is_semaphore(what) ? c.base + "/locks" : c.base;
  ++line_of(c).claims;
  enter(ref_of(c), done, 0);
}

/// Creates and lists in one go: one round trip. Where many come at once, so many creations are in flight, and
/// one listing a queue, which serves all whose creation was sent before it: a listing for each would cost n *
/// n names.
void session::enter(const ref& who, const on_reply& done, int tries) {
  coming_.push_back(std::make_shared<arrival>(arrival{who, done, tries, {}}));
  create_next();
}

void session::create_next() {
  while (creations_ < most_creations && !coming_.empty()) {
    const arrival_ptr a = std::move(coming_.front());
    coming_.pop_front();
    claim* const c = find(a->who);
    if (c == nullptr) {  // given up, or its session has ended
      time_.at(time_.now(),
               [a] { a->done(store::trouble{{errc::unavailable, "the session ended"}, true, false}); });
      continue;
    }
    c->sent = true;
    ++creations_;
    arrivals_[c->queue].next.push_back(a);
    nodes_.submit({.kind = kind::create,
                   .path = c->queue + '/' + node_name(settings_.layout, role_of(c->asked), c->guid),
                   .data = data_of(c->asked),
                   .make = operation::made::sequential},
                  [this, a, in = sessions_ended_](result r) {
                    a->made = std::move(r);
                    if (in != sessions_ended_) return;
                    --creations_;
                    create_next();
                  });
    list_next(c->queue, c->base);
  }
}

/// The session has ended, and its answers may never come: the next one begins without them.
void session::end_arrivals() {
  ++sessions_ended_;
  creations_ = 0;
  for (const auto& [queue, of] : std::exchange(arrivals_, {})) {
    for (const arrival_ptr& a : of.next) {  // the others are in a listing, which answers them
      time_.at(time_.now(),
               [a] { a->done(store::trouble{{errc::unavailable, "the session ended"}, true, true}); });
    }
  }
  create_next();
}

void session::list_next(const std::string& queue, const std::string& base) {
  arrivals& of = arrivals_[queue];
  if (of.listing) return;
  if (of.next.empty()) {
    arrivals_.erase(queue);
    return;
  }
  of.listing = true;
  const bool permits = queue != base;
  std::vector<operation> steps{{.kind = kind::list, .path = queue}};
  if (permits) steps.push_back({.kind = kind::list, .path = base});
  nodes_.submit_all(std::move(steps), [this, queue, base, permits, in = sessions_ended_,
                                       all = std::exchange(of.next, {})](std::vector<result> results) {
    listed l;
    l.queue = std::move(results[0]);
    const std::vector<std::string>& children = l.queue.children;
    const auto line = lines_.find(queue);
    const bool is_current = in == sessions_ended_ && line != lines_.end();
    if (l.queue.code == answer::done && is_current) l.stranger = line->second.ahead.read(children);
    l.other_kind =
        permits ? std::any_of(results[1].children.begin(), results[1].children.end(), looks_like_contender)
                : std::any_of(children.begin(), children.end(),
                              [](const std::string& each) { return each == "leases" || each == "locks"; });
    for (const arrival_ptr& a : all) entered(*a, l);
    if (in != sessions_ended_) return;
    arrivals_[queue].listing = false;
    list_next(queue, base);
  });
}

void session::entered(const arrival& a, const listed& l) {
  const auto& [who, done, tries, made] = a;
  claim* const c = find(who);
  if (c == nullptr) {  // the session has ended meanwhile, and what came about with it
    return done(store::trouble{{errc::unavailable, "the session ended"}, true, true});
  }
  // It is answered before the listing, which was sent later; where it is not, the connection has broken.
  const result own_node = made ? *made
                               : result{.code = answer::unknown,
                                        .path = c->queue,
                                        .reason = {errc::unavailable, "the connection broke"}};
  if (own_node.code == answer::no_node && tries < most_tries) {
    return nodes_.make_parents(
        c->queue, [this, again = arrival{a}](const std::optional<store::trouble>& failed) {
          claim* const it = find(again.who);
          if (it == nullptr)
            return again.done(store::trouble{{errc::unavailable, "the session ended"}, true, false});
          if (failed)
            return fail_entry(*it, again.done, store::trouble{failed->what, failed->passing, false});
          enter(again.who, again.done, again.tries + 1);
        });
  }
  if (own_node.code == answer::unknown) {
    c->now = state::unsure;
    return done(trouble_of(own_node));
  }
  if (own_node.code != answer::done) return fail_entry(*c, done, trouble_of(own_node));

  c->place = parse(settings_.layout, std::string_view{own_node.path}.substr(c->queue.size() + 1));
  c->token = token_of(own_node.about);
  own(own_node.path, *c);
  // Who may not see its place may not stand there: others would wait behind it for nothing.
  if (l.queue.code == answer::refused) return fail_entry(*c, done, trouble_of(l.queue));
  if (l.queue.code != answer::done) {  // the connection broke in between; where it stands will be found
    c->now = state::unsure;
    return done(store::trouble{trouble_of(l.queue).what, true, true});
  }
  if (l.stranger) return fail_entry(*c, done, mixed_layout(c->queue, *l.stranger));
  if (line_of(*c).ahead.cannot_order(*c->place)) return make_room(*c, done);
  if (!l.other_kind) return settle(*c, done);
  if (is_semaphore(c->asked))
    return fail_entry(*c, done, tickets::reply{tickets::other_capacity{store::whole_room}});
  refuse_other_kind(*c, done, l.queue.children);
}

/// Leaves nothing behind.
void session::fail_entry(claim& c, const on_reply& done, tickets::link::outcome why) {
  remove(c, [done, why = std::move(why)](const tickets::link::outcome&) { done(why); });
}

/// The numbers of its queue have come to their end. It comes again later, and has the counting begin anew if
/// nobody is there by then: the servers remove no node that has children.
void session::make_room(claim& c, const on_reply& done) {
  const std::string queue = c.queue;
  if (!c.asked.wait) {
    fail_entry(c, done, tickets::reply{tickets::refused{}});
  } else {
    fail_entry(c, done, no_numbers_below(queue));
  }
  nodes_.submit({.kind = kind::remove, .path = queue}, [](const result&) {});
}

/// It stands in its queue, which has just been read.
void session::settle(claim& c, const on_reply& done) {
  if (line_of(c).ahead.before(*c.place, 1).count == 0) {
    if (is_semaphore(c.asked)) return choose(c, done, 0);
    hold(c);
    return done(tickets::reply{place_of(c.token, true)});
  }
  if (!c.asked.wait) return fail_entry(c, done, tickets::reply{tickets::refused{}});
  c.now = state::waiting;
  wait_behind(c, extent::fresh);
  done(tickets::reply{place_of(c.token, false)});
}

void session::hold(claim& c) {
  c.now = state::holding;
  c.settled = true;
  line_of(c).ahead.holds(*c.place);
  leave_line(c);
}

/// Whether a claim whose answer was lost came about: its guid is in its node's name, and the node must be of
/// this session. One of a former session is gone or going, whatever it looks like.
void session::retrace(const tickets::request& what, const on_reply& done) {
  const auto found = claims_.find(what.owner);
  if (found == claims_.end()) {
    time_.at(time_.now(), [done] { done(tickets::reply{tickets::nothing{}}); });
    return;
  }
  claim& c = found->second;
  if (is_semaphore(c.asked)) {  // there may be leases as well: all of it goes, and the claim comes anew
    return abandon(c, [done](const tickets::link::outcome& o) {
      if (std::holds_alternative<store::trouble>(o)) return done(o);
      done(tickets::reply{tickets::nothing{}});
    });
  }
  // The server that answers may not know yet of what another one was asked: it has to catch up first. A
  // `sync` would not do, since a leader that has been deposed and does not know it answers it by itself. A
  // node that is missed here stays as long as the session, and everybody waits behind it.
  nodes_.submit_all(
      {{.kind = kind::agree, .path = "/"}, {.kind = kind::list, .path = c.queue}},
      [this, who = ref_of(c), done](const std::vector<result>& results) {
        claim* const unsure = find(who);
        if (unsure == nullptr) return done(tickets::reply{tickets::nothing{}});
        if (!is_agreed(results[0])) return done(trouble_of(results[0]));
        const result& queue = results[1];
        if (is_trouble(queue)) return done(trouble_of(queue));
        // Now: by the time of the next answer another claim may have read a later list.
        line_of(*unsure).ahead.read(queue.children);
        const std::vector<contender> there = made_with(settings_.layout, unsure->guid, queue.children);
        if (there.empty()) return forget_unsure(*unsure, done);
        nodes_.submit_all({{.kind = kind::exists, .path = unsure->queue + '/' + there.front().node}},
                          [this, who, done, mine = there.front()](const std::vector<result>& got) {
                            claim* const it = find(who);
                            if (it == nullptr) return done(tickets::reply{tickets::nothing{}});
                            const result& node = got[0];
                            if (node.code == answer::unknown || node.code == answer::not_sent)
                              return done(trouble_of(node));
                            if (node.code != answer::done || node.about.session != nodes_.session())
                              return forget_unsure(*it, done);
                            it->place = mine;
                            it->token = token_of(node.about);
                            own(it->queue + '/' + mine.node, *it);
                            if (line_of(*it).ahead.cannot_order(mine)) return make_room(*it, done);
                            settle(*it, [done](const tickets::link::outcome& o) {
                              // One that did not want to wait has left by now, and asks anew to hear that.
                              const auto* r = std::get_if<tickets::reply>(&o);
                              if (r != nullptr && std::holds_alternative<tickets::refused>(*r))
                                return done(tickets::reply{tickets::nothing{}});
                              done(o);
                            });
                          });
      });
}

void session::forget_unsure(claim& c, const on_reply& done) {
  leave_line(c);
  forget(c);
  done(tickets::reply{tickets::nothing{}});
}

}  // namespace holdfast::zookeeper
