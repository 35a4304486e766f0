// How a claim comes, and is found again where the answer was lost.

#include <algorithm>
#include <utility>

#include "protocol/zookeeper/claims.hpp"
#include "protocol/zookeeper/paths.hpp"
#include "protocol/zookeeper/session.hpp"

namespace holdfast::zookeeper {

using kind = operation::kind;

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

/// Creates and lists in one go.
void session::enter(const ref& who, const on_reply& done, int tries) {
  const claim& c = *find(who);
  std::vector<operation> steps;
  steps.push_back({.what = kind::create,
                   .path = c.queue + '/' + node_name(settings_.how, role_of(c.asked), c.guid),
                   .data = data_of(c.asked),
                   .make = operation::made::sequential});
  steps.push_back({.what = kind::list, .path = c.queue});
  if (is_semaphore(c.asked)) steps.push_back({.what = kind::list, .path = c.base});
  ask(std::move(steps),
      [this, who, done, tries](const std::vector<result>& results) { entered(who, done, tries, results); });
}

void session::entered(const ref& who, const on_reply& done, int tries, const std::vector<result>& results) {
  claim* const c = find(who);
  if (c == nullptr) {  // the session has ended meanwhile, and what came about with it
    return done(store::trouble{{errc::unavailable, "the session ended"}, true, true});
  }
  const result& own_node = results[0];
  if (own_node.how == answer::no_node && tries < most_tries) {
    return make_parents(c->queue, [this, who, done, tries](const std::optional<store::trouble>& failed) {
      claim* const again = find(who);
      if (again == nullptr)
        return done(store::trouble{{errc::unavailable, "the session ended"}, true, false});
      if (failed) return fail_entry(*again, done, store::trouble{failed->what, failed->passing, false});
      enter(who, done, tries + 1);
    });
  }
  if (own_node.how == answer::unknown) {
    c->now = state::unsure;
    return done(trouble_of(own_node));
  }
  if (own_node.how != answer::done) return fail_entry(*c, done, trouble_of(own_node));

  c->place = parse(settings_.how, std::string_view{own_node.path}.substr(c->queue.size() + 1));
  c->token = token_of(own_node.about);
  own(own_node.path, *c);
  const result& queue = results[1];
  if (queue.how != answer::done) {  // the connection broke in between; where it stands will be found
    c->now = state::unsure;
    return done(store::trouble{trouble_of(queue).what, true, true});
  }
  if (const auto stranger = line_of(*c).ahead.read(queue.children)) {
    return fail_entry(*c, done, mixed_layout(c->queue, *stranger));
  }
  if (line_of(*c).ahead.cannot_order(*c->place)) return make_room(*c, done);
  const bool both =
      is_semaphore(c->asked)
          ? std::any_of(results[2].children.begin(), results[2].children.end(), looks_like_contender)
          : std::any_of(queue.children.begin(), queue.children.end(),
                        [](const std::string& each) { return each == "leases" || each == "locks"; });
  if (!both) return settle(*c, done);
  if (is_semaphore(c->asked))
    return fail_entry(*c, done, tickets::reply{tickets::other_capacity{store::whole_room}});
  refuse_other_kind(*c, done, queue.children);
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
  wire_.submit({.what = kind::remove, .path = queue}, [](const result&) {});
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
  wait_behind(c, true);
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
  // The server that answers may not know yet of what another one was asked: it has to catch up first.
  ask({{.what = kind::sync, .path = top()}, {.what = kind::list, .path = c.queue}},
      [this, who = ref_of(c), done](const std::vector<result>& results) {
        claim* const unsure = find(who);
        if (unsure == nullptr) return done(tickets::reply{tickets::nothing{}});
        if (is_trouble(results[0])) return done(trouble_of(results[0]));
        const result& queue = results[1];
        if (is_trouble(queue)) return done(trouble_of(queue));
        // Now: by the time of the next answer another claim may have read a later list.
        line_of(*unsure).ahead.read(queue.children);
        const std::vector<contender> there = made_with(settings_.how, unsure->guid, queue.children);
        if (there.empty()) return forget_unsure(*unsure, done);
        ask({{.what = kind::get, .path = unsure->queue + '/' + there.front().node}},
            [this, who, done, mine = there.front()](const std::vector<result>& got) {
              claim* const it = find(who);
              if (it == nullptr) return done(tickets::reply{tickets::nothing{}});
              const result& node = got[0];
              if (node.how == answer::unknown || node.how == answer::not_sent) return done(trouble_of(node));
              if (node.how != answer::done || node.about.session != id_) return forget_unsure(*it, done);
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
