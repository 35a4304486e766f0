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

/// The number of marks that are read at once.
constexpr std::size_t marks_at_once = 256;

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

/// Whether the nodes of a claim that is first in line are still there.
bool is_among(const claim& c, const std::vector<std::string>& children,
              const std::vector<std::string>& leases) {
  const auto has = [](const std::vector<std::string>& all, std::string_view node) {
    return std::find(all.begin(), all.end(), node) != all.end();
  };
  if (c.leases.empty()) return has(children, c.place->node);
  return std::all_of(c.leases.begin(), c.leases.end(), [&](const std::string& path) {
    return has(leases, std::string_view{path}.substr(c.leases_path().size() + 1));
  });
}

/// The number of leases that a claim had when they were listed.
std::int64_t leases_of(const claim& c, const owner_id& guid) {
  const auto found = c.leases_of.find(guid);
  return found == c.leases_of.end() ? 0 : found->second;
}

/// Counts the leases of the claims that have marks. A claim that is released removes its leases one by one,
/// after its rest has begun.
std::map<owner_id, std::int64_t> count_leases_of_marked(const std::vector<std::string>& leases,
                                                        const std::vector<std::string>& marks) {
  const std::set<std::string, std::less<>> marked{marks.begin(), marks.end()};
  std::map<owner_id, std::int64_t> counts;
  for (const std::string& each : leases) {
    std::set<owner_id> guid;
    add_living(guid, {each});
    if (!guid.empty() && marked.contains(guid.begin()->hex())) ++counts[*guid.begin()];
  }
  return counts;
}

/// Why a mark was not made, by the answers for its parent and for itself.
const result& failure_of_creation(const std::vector<result>& results) {
  const result& parent = results.front();
  const bool is_refused = is_error(parent) && parent.code != answer::node_exists;
  return is_refused && !is_unanswered(parent) ? parent : results.back();
}

/// Whether the mark has to be read: it is new, or its rest may have begun since.
bool is_unread(const claim& c, const owner_id& guid) {
  const auto found = c.seen.find(guid);
  if (found == c.seen.end()) return true;
  const auto& former = found->second;
  return former && !former->has_begun && leases_of(c, guid) < former->permits;
}

/// Whether the claim has to wait for the end of the rests that it has seen.
bool is_delayed(const claim& c, store::time_point now) {
  const holdfast::mode wanted = mode_of(c);
  std::int64_t taken = static_cast<std::int64_t>(c.leases_seen);
  for (const auto& [guid, former] : c.seen) {
    if (!former || !former->has_begun || former->until <= now) continue;
    if (wanted == mode::permits && former->mode == mode::permits) {
      // The leases that are still there are counted already. Once there may have been more permits.
      const std::int64_t permits = std::min(former->permits, c.request.capacity);
      taken += std::max<std::int64_t>(permits - leases_of(c, guid), 0);
    } else if (wanted != mode::shared || former->mode != mode::shared) {
      return true;
    }
  }
  return wanted == mode::permits && taken > c.request.capacity;
}

}  // namespace

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
  c.now = claim::phase::checking;
  if (c.heeds) return look_at_marks(c, handler);
  make_mark(c, handler, 0);
}

/// Finds the marks whose claims have ended, or have removed some of their leases. The write before the reads
/// tells the leader's clock, and the server that answers has caught up with it.
void claim_queue::look_at_marks(claim& c, const on_reply& handler) {
  c.settled = false;
  c.is_answering = handler != nullptr;
  const std::string rests = rests_path(c.base);
  nodes_.submit_all({{.kind = kind::set, .path = rests},
                     {.kind = kind::list, .path = c.base},
                     {.kind = kind::list, .path = c.leases_path()},
                     {.kind = kind::list, .path = rests}},
                    [this, ref = claim_table::ref_of(c), handler](const std::vector<result>& results) {
                      claim* const found = find_checking(ref);
                      if (found == nullptr) return answer_gone(handler);
                      const auto failed = std::find_if(results.begin(), results.end(), is_error);
                      if (failed != results.end()) return fail_check(*found, handler, *failed);
                      const auto& children = results[1].children;
                      const auto& leases = results[2].children;
                      if (!is_among(*found, children, leases)) {
                        revoke(*found);
                        return answer_gone(handler);
                      }
                      found->leases_seen = leases.size();
                      std::set<owner_id> living;
                      add_living(living, children);
                      add_living(living, leases);
                      std::vector<owner_id> marked = ended_of(results[3].children, living);
                      found->leases_of = {};
                      if (is_semaphore(found->request))
                        found->leases_of = count_leases_of_marked(leases, results[3].children);
                      for (const auto& [guid, count] : found->leases_of) marked.push_back(guid);
                      std::erase_if(found->seen, [&](const auto& each) {
                        return std::find(marked.begin(), marked.end(), each.first) == marked.end();
                      });
                      std::erase_if(marked, [&](const owner_id& each) { return !is_unread(*found, each); });
                      if (marked.empty()) return decide(*found, handler);
                      read_marks(*found, handler, std::move(marked), results[0].about.changed_ms);
                    });
}

/// Reads new marks, and stamps those that nobody has stamped: their rest begins now. So does a rest that
/// began before the leader's clock was set back: nobody could count it until that clock is there again.
/// \param now_ms the leader's clock; zero: not known.
void claim_queue::read_marks(claim& c, const on_reply& handler, std::vector<owner_id> guids,
                             std::int64_t now_ms) {
  const bool is_all = guids.size() <= marks_at_once;
  if (!is_all) guids.resize(marks_at_once);
  std::vector<operation> steps;
  for (const owner_id& each : guids) steps.push_back({.kind = kind::get, .path = mark_path(c.base, each)});
  // A claim that came after the lists were read may have made its mark before those were: it lives.
  steps.push_back({.kind = kind::list, .path = c.base});
  steps.push_back({.kind = kind::list, .path = c.leases_path()});
  nodes_.submit_all(std::move(steps), [this, ref = claim_table::ref_of(c), handler, guids, now_ms,
                                       is_all](const std::vector<result>& results) {
    claim* const found = find_checking(ref);
    if (found == nullptr) return answer_gone(handler);
    const auto failed = std::find_if(results.begin(), results.end(), is_error);
    if (failed != results.end()) return fail_check(*found, handler, *failed);
    std::set<owner_id> living;
    add_living(living, results[guids.size()].children);
    add_living(living, results[guids.size() + 1].children);
    std::vector<owner_id> unstamped;
    std::vector<operation> stamps;
    for (std::size_t i = 0; i < guids.size(); ++i) {
      const result& r = results[i];
      const bool lives = living.contains(guids[i]);
      if (r.code != answer::done || (lives && leases_of(*found, guids[i]) == 0)) continue;
      auto m = read_mark(r.data);
      auto& rest = found->seen[guids[i]];
      if (!m) continue;  // written by others
      rest = claim::former{m->mode, m->permits, time_.now() + left_of(*m, r.about, now_ms),
                           m->is_stamped || !lives};
      if (lives || (m->is_stamped && !is_of_the_future(r.about, now_ms))) continue;
      m->is_stamped = true;
      unstamped.push_back(guids[i]);
      stamps.push_back({.kind = kind::set, .path = r.path, .data = to_text(*m), .version = r.about.version});
    }
    if (stamps.empty()) return is_all ? decide(*found, handler) : look_at_marks(*found, handler);
    stamp(*found, handler, unstamped, std::move(stamps));
  });
}

void claim_queue::stamp(claim& c, const on_reply& handler, const std::vector<owner_id>& guids,
                        std::vector<operation> writes) {
  nodes_.submit_all(std::move(writes),
                    [this, ref = claim_table::ref_of(c), handler, guids](const std::vector<result>& results) {
                      claim* const found = find_checking(ref);
                      if (found == nullptr) return answer_gone(handler);
                      for (std::size_t i = 0; i < results.size(); ++i) {
                        const result& r = results[i];
                        if (r.code == answer::other_version || r.code == answer::no_node) {
                          found->seen.erase(guids[i]);  // another claim was faster: read again
                        } else if (is_error(r)) {
                          for (const owner_id& each : guids) found->seen.erase(each);
                          return fail_check(*found, handler, r);
                        }
                      }
                      look_at_marks(*found, handler);
                    });
}

/// Removes the marks of rests that are over. Then the claim is granted, or waits for the others.
void claim_queue::decide(claim& c, const on_reply& handler) {
  std::vector<operation> removals;
  store::time_point next = time_.now() + longest_pause;
  for (const auto& [guid, former] : c.seen) {
    if (!former) continue;
    if (leases_of(c, guid) != 0 && former->until <= time_.now()) continue;  // its claim may remove it
    if (former->until <= time_.now())
      removals.push_back({.kind = kind::remove, .path = mark_path(c.base, guid)});
    next = std::min(next, former->until);
  }
  if (!removals.empty()) return remove_marks(c, handler, std::move(removals));
  if (!is_delayed(c, time_.now())) return make_mark(c, handler, 0);
  if (!c.request.wait && handler) return fail_entry(c, handler, tickets::reply{tickets::refused{}});
  c.settled = true;
  c.is_answering = false;
  c.next_look = next;
  looks_.add(next, claim_table::ref_of(c));
  if (handler) handler(tickets::reply{place_of(c.token, false)});
}

/// Nobody else needs these marks: their claims have ended, and a mark of an ended claim is never written
/// anew.
void claim_queue::remove_marks(claim& c, const on_reply& handler, std::vector<operation> removals) {
  nodes_.submit_all(std::move(removals),
                    [this, ref = claim_table::ref_of(c), handler](const std::vector<result>& results) {
                      claim* const found = find_checking(ref);
                      if (found == nullptr) return answer_gone(handler);
                      const auto failed = std::find_if(results.begin(), results.end(), is_error);
                      if (failed != results.end()) return fail_check(*found, handler, *failed);
                      look_at_marks(*found, handler);
                    });
}

/// Makes the mark of a claim with a grace, and grants the claim.
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
                      if (r.code == answer::done || r.code == answer::node_exists)
                        return grant(*found, handler);
                      // The servers have removed the new parent meanwhile.
                      if (r.code == answer::no_node && tries < most_tries)
                        return make_mark(*found, handler, tries + 1);
                      fail_check(*found, handler, failure_of_creation(results));
                    });
}

void claim_queue::grant(claim& c, const on_reply& handler) {
  c.seen.clear();
  if (is_semaphore(c.request)) return grant_permits(c, handler);
  hold(c);
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
