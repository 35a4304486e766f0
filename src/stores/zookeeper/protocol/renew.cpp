// Renewal, downgrade and new metadata of holding claims.

#include <iterator>
#include <memory>
#include <utility>

#include "base/release_request.hpp"
#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/claim_queue.hpp"
#include "stores/zookeeper/protocol/release_request.hpp"

namespace holdfast::zookeeper {

using kind = operation_kind;

/// Confirms that the claims still hold. Their nodes are watched, and one answer of the leader proves that all
/// earlier events have been delivered. Nodes that cannot be watched are read after that.
void claim_queue::renew(const tickets::renew& request, const on_reply& handler) {
  struct look {
    claim_ref ref;
    std::string path;
  };
  std::vector<operation> steps;
  std::vector<operation> unwatchable;
  std::vector<look> looks;  // of each step, the watched ones first
  std::vector<look> looks_of_unwatchable;
  watch_load planned;
  for (const store::hold& h : request.holds) {
    claim* const found = claims_.find(h.owner);
    if (found == nullptr || found->now != claim::phase::holding) continue;
    claim& c = *found;
    if (c.watched) continue;
    if (c.lowers()) continue;  // this client itself removes the writer's node, which is no loss
    std::vector<std::string> paths = c.leases;
    if (paths.empty()) paths.push_back(c.place_path());
    c.watched = can_watch(paths, planned);
    for (const std::string& path : paths) {
      (c.watched ? steps : unwatchable).push_back(nodes_.look_at(path, c.watched));
      (c.watched ? looks : looks_of_unwatchable).push_back({claim_table::ref_of(c), path});
    }
  }
  const std::size_t sync = steps.size();
  steps.push_back({.kind = kind::sync, .path = top()});
  std::move(unwatchable.begin(), unwatchable.end(), std::back_inserter(steps));
  looks.push_back({});
  std::move(looks_of_unwatchable.begin(), looks_of_unwatchable.end(), std::back_inserter(looks));
  nodes_.submit_all(std::move(steps),
                    [this, request, looks, sync, handler](const std::vector<result>& results) {
                      bool unread = false;
                      const result* failed = is_error(results[sync]) ? &results[sync] : nullptr;
                      for (std::size_t i = 0; i < looks.size(); ++i) {
                        const result& r = results[i];
                        if (i == sync) continue;
                        claim* const c = claims_.find(looks[i].ref);
                        if (is_unanswered(r)) {
                          unsettle_behind(looks[i].path);
                          if (failed == nullptr) failed = &r;
                        }
                        if (c != nullptr && r.code != answer::done) c->watched = false;
                        if (c != nullptr) take_request(*c, r);
                        if (c != nullptr && r.code == answer::refused) {
                          unread = nodes_.set_unreadable(looks[i].path) || unread;
                          unsettle_behind(looks[i].path);
                        }
                        if (r.code == answer::no_node) {
                          if (c != nullptr) revoke(*c);
                          node_gone(looks[i].path);  // waiters may rely on this watch
                        }
                      }
                      if (failed != nullptr) return handler(request_error_of(*failed));
                      if (unread) return renew(request, handler);  // `exists` needs no permission
                      tickets::kept kept;
                      for (const store::hold& h : request.holds) {
                        const claim* const found = claims_.find(h.owner);
                        kept.each.push_back(found != nullptr && found->now == claim::phase::holding);
                      }
                      handler(tickets::reply{std::move(kept)});
                    });
}

/// Reads a node of a holder that somebody has written to: a client that asks for its release, or this client
/// itself. The watch is set again, unless others of its nodes have to be watched, too: then with the next
/// renewal.
void claim_queue::read_written(claim& c, const std::string& path) {
  watch_load planned;
  const bool watches = c.leases.size() < 2 && can_watch({path}, planned);
  c.watched = watches;
  nodes_.submit_all({nodes_.look_at(path, watches)},
                    [this, ref = claim_table::ref_of(c), path](const std::vector<result>& results) {
                      const result& r = results[0];
                      claim* const found = claims_.find(ref);
                      if (found == nullptr || found->now != claim::phase::holding) return;
                      if (r.code != answer::done) found->watched = false;
                      if (r.code == answer::no_node) return node_gone(path);
                      take_request(*found, r);
                    });
}

/// Notifies the holder that it is asked to release, and writes its own data back, now with the request, where
/// that is not there: others read from it who holds.
void claim_queue::take_request(claim& c, const result& read) {
  if (read.code != answer::done || c.now != claim::phase::holding || !c.request.metadata) return;
  const bool is_downgraded = c.lowering && c.place->wants == role::reader;
  const auto own_data = [&] { return data_of(c.request, is_downgraded ? c.token : fencing_token{}); };
  if (read.data == own_data()) return;  // which may look like a request: a leader's value is any text
  const auto reason = request_in(read.data);
  if (!reason) return;
  c.request.metadata =
      std::make_shared<const std::string>(with_release_request(*c.request.metadata, *reason));
  if (std::string own = own_data(); own != read.data) {
    nodes_.submit_all({{.kind = kind::set, .path = read.path, .data = std::move(own)}},
                      [](const std::vector<result>&) {});
  }
  notify(c, store::notification_kind::release_requested, c.token);
}

/// As Curator does, replaces the writer's node by a reader's node with the same number, but in one step: if
/// the hold was ended by force meanwhile, a reader's node would be ahead of contenders that have seen the
/// end.
void claim_queue::downgrade(const store::hold& request, const on_reply& handler) {
  claim* const held = claims_.find(request.owner);
  if (held == nullptr || held->now != claim::phase::holding)
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  claim& c = *held;
  if (c.place->wants == role::reader) return reply_later(handler, tickets::reply{tickets::done{}});
  if (c.place->wants == role::mutex) {
    return reply_later(
        handler, store::request_error{
                     {errc::wrong_type,
                      "a mutex cannot be downgraded to a reader on this store; lock it by a shared_mutex"},
                     false,
                     false});
  }
  const std::string reader = downgraded(style_, c.place->number, c.guid);
  const std::string former = c.place_path();
  c.lowering = true;
  claims_.own(c.queue + '/' + reader, c);
  claims_.disown(former);  // this client removes it
  nodes_.submit_all(
      {{.kind = kind::replace,
        .path = c.queue + '/' + reader,
        .data = data_of(c.request, c.token),
        .former = former}},
      [this, ref = claim_table::ref_of(c), handler, reader, former](const std::vector<result>& results) {
        claim* const found = claims_.find(ref);
        if (found == nullptr) return handler(tickets::reply{tickets::nothing{}});
        const result& r = results[0];
        if (is_unanswered(r)) return handler(request_error_of(r));
        // The reader's node exists if an earlier try was carried out and its answer was lost.
        if (r.code == answer::done || r.code == answer::node_exists) {
          found->place = parse(style_, reader);
          found->watched = false;
          return handler(tickets::reply{tickets::done{}});
        }
        found->lowering = false;
        claims_.disown(found->queue + '/' + reader);
        if (r.code == answer::no_node) {  // the hold was ended by force
          forget(*found);
          return handler(tickets::reply{tickets::nothing{}});
        }
        claims_.own(former, *found);
        found->watched = false;  // events since then were ignored
        handler(request_error_of(r));
      });
}

void claim_queue::annotate(const tickets::annotate& request, const on_reply& handler) {
  claim* const held = claims_.find(request.owner);
  if (held == nullptr || held->now != claim::phase::holding)
    return reply_later(handler, tickets::reply{tickets::nothing{}});
  claim& c = *held;
  c.request.metadata = request.metadata;
  operation write{.kind = kind::set, .path = c.place_path(), .data = data_of(c.request)};
  nodes_.submit(std::move(write),
                [this, ref = claim_table::ref_of(c), path = c.place_path(), handler](const result& r) {
                  claim* const found = claims_.find(ref);
                  if (found == nullptr) return handler(tickets::reply{tickets::nothing{}});
                  if (is_error(r)) return handler(request_error_of(r));
                  if (r.code == answer::done) return handler(tickets::reply{tickets::done{}});
                  // Either a downgrade has replaced the node meanwhile, or the hold was ended by force.
                  if (found->place_path() == path) node_gone(path);
                  handler(tickets::reply{tickets::nothing{}});
                });
}

}  // namespace holdfast::zookeeper
