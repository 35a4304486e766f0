// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/session.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <variant>
#include <vector>

#include "stores/zookeeper/protocol/paths.hpp"

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
    : liveness_{time, servers, top_of(s.root), s.timeout},
      nodes_{servers},
      claims_{time, nodes_, s.root, s.layout,
              [this](const std::string& path) { return name_watch_.watches(path); }},
      inspection_{nodes_, s.root, s.layout, [this] { return liveness_.timeout(); }},
      name_watch_{time, nodes_, s.root, [this](const std::string& path) { return claims_.awaits(path); }} {}

void session::send(const tickets::request& request, const on_reply& handler) {
  struct dispatch {
    session& to;
    const on_reply& handler;

    void operator()(const tickets::acquire& r) const { to.claims_.acquire(*r.claim, handler); }
    void operator()(const tickets::find& r) const { to.claims_.find(r, handler); }
    void operator()(const tickets::look& r) const { to.claims_.look(r, handler); }
    void operator()(const tickets::renew& r) const { to.claims_.renew(r, handler); }
    void operator()(const tickets::release& r) const { to.claims_.leave(r, handler); }
    void operator()(const tickets::withdraw& r) const { to.claims_.leave(r, handler); }
    void operator()(const tickets::downgrade& r) const { to.claims_.downgrade(r, handler); }
    void operator()(const tickets::annotate& r) const { to.claims_.annotate(r, handler); }
    void operator()(const tickets::force_release& r) const { to.force_release(r, handler); }
    void operator()(const tickets::request_release& r) const { to.request_release(r, handler); }
    void operator()(const tickets::inspect& r) const { to.inspection_.inspect(r, handler); }
    void operator()(const tickets::list& r) const { to.inspection_.list(r, handler); }
    void operator()(const tickets::joint_request& /*r*/) const { assert(!"the link takes none"); }
  };
  std::visit(dispatch{*this, handler}, request);
}

void session::connected(std::int64_t id, duration timeout, store::time_point began) {
  if (nodes_.session() != 0 && nodes_.session() != id) expired();
  const bool is_new = nodes_.session() == 0;
  nodes_.connected(id);
  liveness_.connected(timeout, began, is_new);
  claims_.connected();
  name_watch_.connected();
}

void session::disconnected() {
  nodes_.disconnected();
  liveness_.disconnected();
}

void session::expired() {
  nodes_.expired();
  liveness_.expired();
  name_watch_.expired();
  claims_.expired();  // last: users that are notified may begin to use the next session
}

void session::happened(const std::string& path, change event) {
  nodes_.happened(path, event);
  claims_.happened(path, event);
  name_watch_.happened(path, event);
}

/// Removes the nodes of holds that an operator ends. The holders notice it by their own watches.
void session::force_release(const tickets::force_release& request, const on_reply& handler) {
  inspection_.find_holds(
      request.name, request.first, request.last, handler, [this, handler](const std::vector<claimed>& holds) {
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
void session::request_release(const tickets::request_release& request, const on_reply& handler) {
  inspection_.find_holds(
      request.name, request.first, request.last, handler,
      [this, reason = request.reason, handler](const std::vector<claimed>& holds) {
        std::vector<operation> writes;
        for (const claimed& each : holds) {
          auto data = data_that_asks(each, reason);
          if (!data) return handler(is_anothers(each, "which has no means to be asked"));
          writes.push_back(
              {.kind = operation_kind::set, .path = each.nodes.front(), .data = std::move(*data)});
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
