// How a name rests: the marks of former holders that a claim heeds, and the mark that it leaves.
//
// The mark of a hold is made before the grant is reported, or before a release that comes too soon, and the
// hold's node ends later. So whoever sees that the node has gone sees the mark.

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"
#include "stores/zookeeper/protocol/mark.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;
using namespace std::chrono_literals;

namespace {

/// A rest that is ended by force is noticed after that time.
constexpr duration longest_pause = 1s;

holdfast::mode mode_of(const claim& c) {
  if (is_semaphore(c.request)) return mode::permits;
  return c.place && c.place->wants == role::reader ? mode::shared : mode::exclusive;
}

mark mark_of(const claim& c, duration length, bool is_stamped) {
  mark m;
  m.mode = mode_of(c);
  if (m.mode == mode::permits) m.permits = c.request.weight;
  m.length = length;
  m.is_stamped = is_stamped;
  m.token = c.token;
  if (c.request.metadata) m.metadata = *c.request.metadata;
  return m;
}

/// Whether the nodes of a claim that is first in line are still there. Of permits also the place in the
/// queue: once that is gone the next claim makes its leases, and each of the two would wait for the other.
bool is_among(const claim& c, const rests_seen& seen) {
  const auto has = [](const std::vector<std::string>& all, std::string_view node) {
    return std::find(all.begin(), all.end(), node) != all.end();
  };
  const auto is_there = [&](const std::string& path) {
    return has(seen.leases, std::string_view{path}.substr(c.leases_path().size() + 1));
  };
  return has(seen.contenders, c.place->node) && std::all_of(c.leases.begin(), c.leases.end(), is_there);
}

/// Why a mark was not made, by the answers for its parent and for itself.
const result& failure_of_creation(const std::vector<result>& results) {
  const result& parent = results.front();
  const bool is_refused = is_error(parent) && parent.code != answer::node_exists;
  return is_refused && !is_unanswered(parent) ? parent : results.back();
}

/// Whether the claim has to wait for the end of the rests that were seen.
bool is_delayed(const claim& c, const rests_seen& seen, store::time_point now) {
  const holdfast::mode wanted = mode_of(c);
  auto taken = static_cast<std::int64_t>(seen.leases.size());
  for (const former_hold& former : seen.formers) {
    if (!former.has_begun || former.until <= now) continue;
    if (wanted == mode::permits && former.mode == mode::permits) {
      // The leases that are still there are counted already. Once there may have been more permits.
      const std::int64_t permits = std::min(former.permits, c.request.capacity);
      taken += std::max<std::int64_t>(permits - former.leases, 0);
    } else if (wanted != mode::shared || former.mode != mode::shared) {
      return true;
    }
  }
  return wanted == mode::permits && taken > c.request.capacity;
}

/// Whether permits of another capacity rest. Holders of some are found out before, by their leases.
bool has_other_capacity(const claim& c, const rests_seen& seen, store::time_point now) {
  if (!is_semaphore(c.request) || !c.written_capacity || c.written_capacity == c.request.capacity)
    return false;
  return std::any_of(seen.formers.begin(), seen.formers.end(), [&](const former_hold& former) {
    return former.mode == mode::permits && former.has_begun && former.until > now;
  });
}

/// When the first of the rests ends, and no later than one that is ended by force has to be noticed.
store::time_point next_look(const rests_seen& seen, store::time_point now) {
  store::time_point next = now + longest_pause;
  for (const former_hold& former : seen.formers) {
    if (former.until > now) next = std::min(next, former.until);
  }
  return next;
}

}  // namespace

/// The mark that a claim has while it holds: the name rests after a session that ends without a release.
operation claim_queue::write_of_mark(const claim& c) {
  return {.kind = kind::set,
          .path = mark_path(c.base, c.guid),
          .data = to_text(mark_of(c, c.request.grace, false))};
}

claim* claim_queue::find_checking(const claim_ref& ref) {
  claim* const c = claims_.find(ref);
  return c != nullptr && c->now == claim::phase::checking ? c : nullptr;
}

/// No contender is ahead of the claim any more.
void claim_queue::admit(claim& c, const on_reply& handler) {
  stop_waiting(c);
  c.now = claim::phase::checking;
  if (c.heeds) return look_at_rests(c, handler, time_.now());
  make_mark(c, handler, 0);
}

/// \param when the latest begin of the look.
void claim_queue::look_at_rests(claim& c, const on_reply& handler, store::time_point when) {
  if (std::exchange(c.looks, true)) return;
  c.settled = false;
  c.is_answering = handler != nullptr;
  rests_.look(c.base, c.queue, when,
              [this, ref = claim_table::ref_of(c), handler](const result* failed, const rests_seen& seen) {
                if (claim* const any = claims_.find(ref)) any->looks = false;
                claim* const found = find_checking(ref);
                if (found == nullptr) return answer_gone(handler);
                if (failed != nullptr) return fail_check(*found, handler, *failed);
                if (is_among(*found, seen)) return decide(*found, handler, seen);
                revoke(*found);
                answer_gone(handler);
              });
}

/// Grants the claim, or lets it wait for the next look.
void claim_queue::decide(claim& c, const on_reply& handler, const rests_seen& seen) {
  const bool is_crowded =
      is_semaphore(c.request) && seen.leases.size() > static_cast<std::size_t>(c.request.capacity);
  if (has_other_capacity(c, seen, time_.now()))
    return refuse(c, handler, tickets::other_capacity{*c.written_capacity});
  if (!is_crowded && !is_delayed(c, seen, time_.now())) return make_mark(c, handler, 0);
  if (!c.request.wait) return refuse(c, handler, tickets::refused{});
  if (is_crowded) {  // others have made leases since, out of turn: it waits for their end
    c.now = claim::phase::choosing;
    count_leases(c);
  } else {
    look_at_rests(c, nullptr, next_look(seen, time_.now()));
    c.settled = true;
  }
  if (handler) handler(tickets::reply{place_of(c.token, false)});
}

/// Makes the mark of a claim that has a grace, and grants the claim.
void claim_queue::make_mark(claim& c, const on_reply& handler, int tries) {
  if (c.request.grace == duration::zero()) return grant(c, handler);
  c.settled = false;
  c.is_answering = handler != nullptr;
  c.marked = true;
  operation creation = write_of_mark(c);
  creation.kind = kind::create;
  creation.make = operation::made::persistent;
  nodes_.submit_all({{.kind = kind::create, .path = rests_path(c.base), .make = operation::made::container},
                     std::move(creation)},
                    [this, ref = claim_table::ref_of(c), handler, tries](const std::vector<result>& results) {
                      claim* const found = find_checking(ref);
                      if (found == nullptr) return answer_gone(handler);
                      const result& r = results[1];
                      // It exists if the answer to an earlier try was lost.
                      if (r.code == answer::done || r.code == answer::node_exists) {
                        found->granted_with_mark = true;
                        return grant(*found, handler);
                      }
                      // The servers have removed the new parent meanwhile.
                      if (r.code == answer::no_node && tries < most_tries)
                        return make_mark(*found, handler, tries + 1);
                      fail_check(*found, handler, failure_of_creation(results));
                    });
}

void claim_queue::grant(claim& c, const on_reply& handler) {
  if (is_semaphore(c.request)) return grant_permits(c, handler);
  hold(c);
  if (c.has_unread_request) read_written(c, c.place_path());
  if (handler) return handler(tickets::reply{place_of(c.token, true)});
  notify(c, store::notification_kind::granted, c.token);
}

/// The claim has left, or was ended by force, before its check was answered.
void claim_queue::answer_gone(const on_reply& handler) {
  if (handler) handler(session_ended(true));
}

void claim_queue::fail_check(claim& c, const on_reply& handler, const result& r) {
  if (is_unanswered(r) && handler) {  // the caller will ask for the outcome
    c.now = claim::phase::unsure;
    return handler(store::request_error{request_error_of(r).reason, true, true});
  }
  if (is_unanswered(r)) {
    c.settled = false;
    if (nodes_.is_connected()) polling_.add(c);
    return;
  }
  if (handler) return fail_entry(c, handler, request_error_of(r));
  come_anew(c);  // the next request reports the reason
}

// ---- the rest of a hold

/// A last renewal: the claim leaves, and the name rests.
void claim_queue::rest(const tickets::request& request, const on_reply& handler) {
  const store::hold& h = request.batch.front();
  claim* const c = claims_.find(h.owner);
  if (c != nullptr && c->now == claim::phase::leaving && c->rests) return part(*c, handler, false);
  if (c == nullptr || (c->now != claim::phase::holding && c->now != claim::phase::parting))
    return reply_later(handler, outcome_of_former_rest(h.owner));
  c->now = claim::phase::parting;
  c->rests_until = time_.now() + h.ttl;
  write_rest(*c, handler, 0);
}

/// Of a claim that is not there any more: an earlier request for its rest may have been carried out, or may
/// have been lost with the session.
tickets::link::outcome claim_queue::outcome_of_former_rest(const owner_id& owner) {
  const auto unsure = unsure_rests_.find(owner);
  if (unsure == unsure_rests_.end()) return tickets::reply{tickets::kept{{false}}};
  const bool rests = unsure->second;
  unsure_rests_.erase(unsure);
  if (rests) return tickets::reply{tickets::kept{{true}}};
  return store::request_error{
      {errc::unavailable, "the session ended before the servers confirmed that the name rests"}, false, true};
}

/// Writes the mark with what is left. Only then the nodes go: until then the name is held. Without a
/// connection it is written over the next one, so that the nodes do not stay.
void claim_queue::write_rest(claim& c, const on_reply& handler, int tries) {
  const auto left = std::chrono::ceil<duration>(c.rests_until - time_.now());
  if (left <= duration::zero()) return remove(c, handler);
  operation write{
      .kind = kind::set, .path = mark_path(c.base, c.guid), .data = to_text(mark_of(c, left, true))};
  std::vector<operation> steps;
  if (!c.marked) {
    steps.push_back({.kind = kind::create, .path = rests_path(c.base), .make = operation::made::container});
    write.kind = kind::create;
    write.make = operation::made::persistent;
  }
  steps.push_back(std::move(write));
  const bool creates = !std::exchange(c.marked, true);
  nodes_.submit_all(std::move(steps), [this, ref = claim_table::ref_of(c), owner = c.request.owner, handler,
                                       tries, creates](const std::vector<result>& results) {
    const result& r = results.back();
    if (is_unanswered(r)) {
      unsure_rests_.emplace(owner, false);
      return handler(store::request_error{request_error_of(r).reason, true, true});
    }
    claim* const found = claims_.find(ref);
    if (found == nullptr && is_error(r))  // the session has ended
      return handler(store::request_error{request_error_of(r).reason, false, true});
    if (found == nullptr || found->now != claim::phase::parting)
      return handler(tickets::reply{tickets::kept{{false}}});
    if (r.code == answer::done) return part(*found, handler, true);
    if (r.code == answer::no_node && found->granted_with_mark) {  // the hold was ended by force
      unsure_rests_.erase(owner);
      return remove(*found, [handler](const tickets::link::outcome& left) {
        if (std::holds_alternative<store::request_error>(left)) return handler(left);
        handler(tickets::reply{tickets::kept{{false}}});
      });
    }
    if ((r.code == answer::no_node || r.code == answer::node_exists) && tries < most_tries) {
      if (!creates) found->marked = false;
      return write_rest(*found, handler, tries + 1);
    }
    // The name cannot rest, and must not stay locked for as long as the session lives.
    remove(*found, [handler, reason = request_error_of(creates ? failure_of_creation(results) : r)](
                       const tickets::link::outcome&) { handler(reason); });
  });
}

/// \param is_first no removal of the nodes was sent before.
void claim_queue::part(claim& c, const on_reply& handler, bool is_first) {
  c.rests = true;
  const auto unsure = unsure_rests_.find(c.request.owner);
  if (unsure != unsure_rests_.end()) unsure->second = true;
  remove(c, [this, handler, is_first, owner = c.request.owner,
             path = mark_path(c.base, c.guid)](const tickets::link::outcome& left) {
    if (std::holds_alternative<store::request_error>(left)) {
      unsure_rests_[owner] = true;
      return handler(left);
    }
    const bool was_there = std::holds_alternative<tickets::done>(std::get<tickets::reply>(left));
    // A hold that was ended by force does not rest.
    if (!was_there && is_first) marks_.remove(path);
    handler(tickets::reply{tickets::kept{{was_there || !is_first}}});
  });
}

}  // namespace holdfast::zookeeper
