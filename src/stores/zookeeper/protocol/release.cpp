// How a claim goes, with all that is its, or may be.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claims.hpp"
#include "stores/zookeeper/protocol/session.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

void session::leave(const tickets::request& what, const on_reply& done) {
  const auto found = claims_.find(what.owner);
  if (found == claims_.end()) {
    time_.at(time_.now(), [done] { done(tickets::reply{tickets::nothing{}}); });
    return;
  }
  claim& c = found->second;
  if (!c.sent) {  // nothing of it is on its way
    leave_line(c);
    forget(c);
    time_.at(time_.now(), [done] { done(tickets::reply{tickets::nothing{}}); });
    return;
  }
  if (c.now == state::unsure || c.now == state::entering || makes_leases(c)) return abandon(c, done);
  remove(c, done);
}

/// Removes what is known of it. What could not be removed for lack of a connection is removed with the next
/// one, whether or not anybody still asks.
void session::remove(claim& c, std::function<void(tickets::link::outcome)> done) {
  stop_waiting(c);
  leave_line(c);
  c.now = state::leaving;
  std::vector<operation> removals;
  for (std::string& path : nodes_of(c)) {
    removals.push_back({.kind = kind::remove, .path = std::move(path)});
  }
  if (removals.empty()) {
    forget(c);
    time_.at(time_.now(), [done = std::move(done)] { done(tickets::reply{tickets::nothing{}}); });
    return;
  }
  std::vector<std::string> paths;
  paths.reserve(removals.size());
  for (const operation& each : removals) paths.push_back(each.path);
  nodes_.submit_all(std::move(removals), [this, who = ref_of(c), paths,
                                          done = std::move(done)](const std::vector<result>& results) {
    bool any = false;
    const result* failed = nullptr;
    for (std::size_t i = 0; i < results.size(); ++i) {
      any = any || results[i].code == answer::done;
      if (!is_trouble(results[i])) {
        went(paths[i]);
        continue;
      }
      failed = &results[i];
      if (find(who) != nullptr) doomed_.insert(paths[i]);
    }
    if (failed != nullptr) {  // it will be carried out some time: unknown until then
      store::trouble why = trouble_of(*failed);
      why.unknown = true;
      return done(why);
    }
    if (claim* const c = find(who)) forget(*c);
    if (any) return done(tickets::reply{tickets::done{}});
    done(tickets::reply{tickets::nothing{}});
  });
}

/// Its nodes may be there, or come to be, under numbers that are not known.
void session::abandon(claim& c, std::function<void(tickets::link::outcome)> done) {
  stop_waiting(c);
  leave_line(c);
  const orphan what = orphan_of(c);
  const std::vector<std::string> known = nodes_of(c);
  forget(c);
  search_and_remove(what, [this, known, done = std::move(done)](const std::optional<store::trouble>& failed) {
    if (!failed) return done(tickets::reply{tickets::done{}});
    // Who may not list finds nothing; what is known goes all the same, and is not left in the way of others.
    if (failed->what.code == errc::permission_denied) {
      for (const std::string& path : known) doom(path);
    }
    done(*failed);
  });
}

session::orphan session::orphan_of(const claim& c) {
  return {c.guid, c.queue, is_semaphore(c.asked) ? c.base + "/leases" : std::string{}};
}

void session::search_and_remove(const orphan& what,
                                const std::function<void(std::optional<store::trouble>)>& done) {
  std::vector<operation> steps{{.kind = kind::agree, .path = "/"}};  // as in `retrace`
  steps.push_back({.kind = kind::list, .path = what.queue});
  if (!what.leases.empty()) steps.push_back({.kind = kind::list, .path = what.leases});
  nodes_.submit_all(std::move(steps),
                    [this, what, done, id = nodes_.session()](const std::vector<result>& results) {
                      const auto failed = std::find_if(results.begin() + 1, results.end(), is_trouble);
                      if (!is_agreed(results[0]) || failed != results.end()) {
                        if (id == nodes_.session() || id == 0) orphans_.push_back(what);
                        return done(trouble_of(is_agreed(results[0]) ? *failed : results[0]));
                      }
                      for (const result& r : results) {
                        for (const contender& each : made_with(settings_.layout, what.guid, r.children)) {
                          doom(r.path + '/' + each.node);
                        }
                      }
                      done(std::nullopt);
                    });
}

/// Removes a node that nobody may wait for to be removed, however long it takes.
void session::doom(const std::string& path) {
  doomed_.insert(path);
  nodes_.submit({.kind = kind::remove, .path = path}, [this, path](const result& r) {
    if (is_trouble(r)) return;
    doomed_.erase(path);
    went(path);
    const auto mine = own_nodes_.find(path);
    claim* const c = mine == own_nodes_.end() ? nullptr : find(mine->second);
    if (c == nullptr || c->now != state::leaving) return;
    // It has left when the last of its nodes is gone, and not before.
    const std::vector<std::string> all = nodes_of(*c);
    const bool any_left = std::any_of(all.begin(), all.end(),
                                      [this](const std::string& each) { return doomed_.contains(each); });
    if (!any_left) forget(*c);
  });
}

}  // namespace holdfast::zookeeper
