#include "stores/zookeeper/protocol/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "stores/zookeeper/protocol/claim_nodes.hpp"
#include "stores/zookeeper/protocol/release_request.hpp"

namespace holdfast::zookeeper {

namespace {

store::request_error is_anothers(const claimed& hold, const std::string& consequence) {
  return {{errc::wrong_type,
           "a client of another library holds the lock (" + hold.nodes.front() + "), " + consequence},
          false,
          false};
}

}  // namespace

session::session(store::scheduler& time, wire& servers, const settings& s)
    : time_{time},
      liveness_{time, servers, s.top(), s.timeout},
      nodes_{servers},
      claims_{
          time, nodes_, s.root, s.layout,
          [this](const std::string& path) { return tree_watch_.watches(path) || name_watch_.watches(path); }},
      inspection_{nodes_, s.root, s.layout, [this] { return liveness_.timeout(); }},
      tree_watch_{
          time, nodes_, s.root,
          [this](const std::string& path) { return claims_.awaits(path) || name_watch_.watches(path); }},
      name_watch_{time, nodes_, s.root, [this](const std::string& path) {
                    return claims_.awaits(path) || tree_watch_.watches(path);
                  }} {}

void session::watch(const store::watched& target, std::function<void()> handler) {
  if (target) return name_watch_.watch(*target, std::move(handler));
  tree_watch_.watch(std::move(handler));
}

void session::send(const tickets::request& request, const on_reply& handler) {
  switch (request.kind) {
    case tickets::task::acquire: return claims_.acquire(request, handler);
    case tickets::task::find: return claims_.retrace(request, handler);
    case tickets::task::look: return claims_.look(request, handler);
    case tickets::task::renew: return claims_.renew(request, handler);
    case tickets::task::release:
    case tickets::task::withdraw: return claims_.leave(request, handler);
    case tickets::task::downgrade: return claims_.downgrade(request, handler);
    case tickets::task::annotate: return claims_.annotate(request, handler);
    case tickets::task::force_release: return force_release(request, handler);
    case tickets::task::request_release: return request_release(request, handler);
    case tickets::task::inspect: return inspection_.inspect(request, handler);
    case tickets::task::list: return inspection_.list(request, handler);
  }
}

void session::connected(std::int64_t id, duration timeout, store::time_point began) {
  if (nodes_.session() != 0 && nodes_.session() != id) expired();
  const bool is_new = nodes_.session() == 0;
  nodes_.connected(id);
  liveness_.connected(timeout, began, is_new);
  claims_.connected();
  tree_watch_.connected();
  name_watch_.connected();
}

void session::disconnected() {
  nodes_.disconnected();
  liveness_.disconnected();
  untold_.clear();  // the watches list all nodes with the next connection
}

void session::expired() {
  nodes_.expired();
  liveness_.expired();
  tree_watch_.expired();
  name_watch_.expired();
  claims_.expired();  // last: users that are notified may begin to use the next session
}

void session::happened(const std::string& path, change event) {
  nodes_.happened(path, event);
  claims_.happened(path, event);
  if (event == change::children && nodes_.is_crowded(path)) return tell_watches_later(path);
  tell_watches(path, event);
}

void session::tell_watches(const std::string& path, change event) {
  tree_watch_.happened(path, event);
  name_watch_.happened(path, event);
}

/// The watches list the node again after each change, and their users read it: in a long queue, where claims
/// come and go all the time, the servers would send megabytes without a pause.
void session::tell_watches_later(const std::string& path) {
  untold_.insert(path);
  if (telling_ != 0) return;
  telling_ = time_.at(time_.now() + std::chrono::seconds{1}, [this] {
    telling_ = 0;
    for (const std::string& each : std::exchange(untold_, {})) tell_watches(each, change::children);
  });
}

/// Removes the nodes of holds that an operator ends. The holders notice it by their own watches.
void session::force_release(const tickets::request& request, const on_reply& handler) {
  inspection_.find_holds(request, [this, handler](const inspection::outcome<std::vector<claimed>>& found) {
    if (const auto* reason = std::get_if<store::request_error>(&found)) return handler(*reason);
    const auto& holds = std::get<std::vector<claimed>>(found);
    std::vector<operation> removals;
    for (const claimed& each : holds) {
      if (!is_ours(each)) return handler(is_anothers(each, "whose nodes Holdfast does not remove"));
      for (const std::string& path : each.nodes)
        removals.push_back({.kind = operation_kind::remove, .path = path});
    }
    if (removals.empty()) return handler(tickets::reply{tickets::count{0}});
    nodes_.submit_all(std::move(removals),
                      [handler, count = holds.size()](const std::vector<result>& results) {
                        const auto failed = std::find_if(results.begin(), results.end(), is_error);
                        if (failed != results.end()) return handler(request_error_of(*failed));
                        handler(tickets::reply{tickets::count{count}});
                      });
  });
}

/// Writes to the first node of each hold. The holders read it by their own watches.
void session::request_release(const tickets::request& request, const on_reply& handler) {
  inspection_.find_holds(request, [this, request,
                                   handler](const inspection::outcome<std::vector<claimed>>& found) {
    if (const auto* reason = std::get_if<store::request_error>(&found)) return handler(*reason);
    std::vector<operation> writes;
    for (const claimed& each : std::get<std::vector<claimed>>(found)) {
      auto data = data_that_asks(each, metadata_of(request));
      if (!data) return handler(is_anothers(each, "which has no means to be asked"));
      writes.push_back({.kind = operation_kind::set, .path = each.nodes.front(), .data = std::move(*data)});
    }
    if (writes.empty()) return handler(tickets::reply{tickets::count{0}});
    nodes_.submit_all(std::move(writes), [handler](const std::vector<result>& results) {
      const auto failed = std::find_if(results.begin(), results.end(), is_error);
      if (failed != results.end()) return handler(request_error_of(*failed));
      const auto notified = std::count_if(results.begin(), results.end(),
                                          [](const result& r) { return r.code == answer::done; });
      handler(tickets::reply{tickets::count{static_cast<std::size_t>(notified)}});
    });
  });
}

}  // namespace holdfast::zookeeper
