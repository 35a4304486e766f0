// How a claim leaves, with all nodes that it has or may have.

#include <algorithm>
#include <utility>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

void claim_queue::leave(const store::hold& request, const on_reply& handler) {
  verdicts_.erase(request.owner);
  claim* const found = claims_.find(request.owner);
  if (found == nullptr) return reply_later(handler, tickets::reply{tickets::nothing{}});
  claim& c = *found;
  if (!c.sent) {  // its node was not sent
    leave_line(c);
    forget(c);
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  }
  if (c.now == claim::phase::unsure || c.now == claim::phase::entering || c.makes_leases())
    return abandon(c, handler);
  remove(c, handler);
}

/// Removes its known nodes. Nodes that could not be removed without a connection are removed over the next
/// one.
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
      if (!is_error(results[i])) {
        went(paths[i]);
        continue;
      }
      failed = &results[i];
      if (claims_.find(ref) != nullptr) reaper_.remove_again_later(paths[i]);
    }
    if (failed != nullptr) {  // it will be carried out some time; the outcome is unknown until then
      store::request_error reason = request_error_of(*failed);
      reason.maybe_executed = true;
      return handler(reason);
    }
    if (claim* const c = claims_.find(ref)) forget(*c);
    if (any) return handler(tickets::reply{tickets::done{}});
    handler(tickets::reply{tickets::nothing{}});
  });
}

/// Its nodes may exist, or may still be created, under unknown numbers.
void claim_queue::abandon(claim& c, on_reply handler) {
  stop_waiting(c);
  leave_line(c);
  const reaper::orphan lost = orphan_of(c);
  const std::vector<std::string> known = nodes_of(c);
  forget(c);
  reaper_.search(
      lost, [this, known, handler = std::move(handler)](const std::optional<store::request_error>& failed) {
        if (!failed) return handler(tickets::reply{tickets::done{}});
        // A client without the permission to list finds nothing. The known nodes are removed all
        // the same, so that others do not wait behind them.
        if (failed->reason.code == errc::permission_denied) {
          for (const std::string& path : known) reaper_.remove(path);
        }
        handler(*failed);
      });
}

reaper::orphan claim_queue::orphan_of(const claim& c) {
  return {c.guid, c.queue, is_semaphore(c.request) ? c.leases_path() : std::string{}};
}

/// Called when a node is removed. A claim has left only when the last of its nodes is gone.
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
