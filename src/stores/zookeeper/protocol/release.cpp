// How a claim goes, with all that is its, or may be.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

void claim_queue::leave(const tickets::request& request, const on_reply& handler) {
  claim* const found = claims_.find(request.owner);
  if (found == nullptr) return reply_later(handler, tickets::reply{tickets::nothing{}});
  claim& c = *found;
  if (!c.sent) {  // nothing of it is on its way
    leave_line(c);
    forget(c);
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  }
  if (c.now == claim::phase::unsure || c.now == claim::phase::entering || c.makes_leases())
    return abandon(c, handler);
  remove(c, handler);
}

/// Removes what is known of it. What could not be removed for lack of a connection is removed with the next
/// one, whether or not anybody still asks.
void claim_queue::remove(claim& c, on_reply handler) {
  stop_waiting(c);
  leave_line(c);
  c.now = claim::phase::leaving;
  std::vector<operation> removals;
  for (std::string& path : nodes_of(c)) {
    removals.push_back({.kind = kind::remove, .path = std::move(path)});
  }
  if (removals.empty()) {
    forget(c);
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  }
  std::vector<std::string> paths;
  paths.reserve(removals.size());
  for (const operation& each : removals) paths.push_back(each.path);
  nodes_.submit_all(std::move(removals), [this, ref = claim_table::ref_of(c), paths,
                                          handler = std::move(handler)](const std::vector<result>& results) {
    bool any = false;
    const result* failed = nullptr;
    for (std::size_t i = 0; i < results.size(); ++i) {
      any = any || results[i].code == answer::done;
      if (!is_trouble(results[i])) {
        went(paths[i]);
        continue;
      }
      failed = &results[i];
      if (claims_.find(ref) != nullptr) reaper_.remove_again_later(paths[i]);
    }
    if (failed != nullptr) {  // it will be carried out some time: unknown until then
      store::trouble trouble = trouble_of(*failed);
      trouble.unknown = true;
      return handler(trouble);
    }
    if (claim* const c = claims_.find(ref)) forget(*c);
    if (any) return handler(tickets::reply{tickets::done{}});
    handler(tickets::reply{tickets::nothing{}});
  });
}

/// Its nodes may be there, or come to be, under numbers that are not known.
void claim_queue::abandon(claim& c, on_reply handler) {
  stop_waiting(c);
  leave_line(c);
  const reaper::orphan lost = orphan_of(c);
  const std::vector<std::string> known = nodes_of(c);
  forget(c);
  reaper_.search(lost,
                 [this, known, handler = std::move(handler)](const std::optional<store::trouble>& failed) {
                   if (!failed) return handler(tickets::reply{tickets::done{}});
                   // Who may not list finds nothing; what is known goes all the same, and is not left in the
                   // way of others.
                   if (failed->reason.code == errc::permission_denied) {
                     for (const std::string& path : known) reaper_.remove(path);
                   }
                   handler(*failed);
                 });
}

reaper::orphan claim_queue::orphan_of(const claim& c) {
  return {c.guid, c.queue, is_semaphore(c.request) ? c.leases_path() : std::string{}};
}

/// A node of ours that had to go is gone. A claim has left when the last of its nodes is gone, and not
/// before.
void claim_queue::removed(const std::string& path) {
  went(path);
  claim* const c = claims_.owner_of(path);
  if (c == nullptr || c->now != claim::phase::leaving) return;
  const std::vector<std::string> all = nodes_of(*c);
  const bool any_left = std::any_of(all.begin(), all.end(),
                                    [this](const std::string& each) { return reaper_.is_pending(each); });
  if (!any_left) forget(*c);
}

}  // namespace holdfast::zookeeper
