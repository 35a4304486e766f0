// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/owner_id.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// Removes nodes of this client that must not stay, also after the caller has gone.
///
/// - A known node is removed, again over each new connection, until the servers have answered.
/// - A node may have been created under an unknown number, if the reply to its creation was lost. It is
/// searched for by its guid, as Curator's protection does, after a vote, so that a server that lags behind
/// cannot hide it.
/// - The end of the session removes all of its nodes, which ends both tasks.
class reaper {
 public:
  /// Nodes that may have been created under unknown numbers.
  struct orphan {
    owner_id guid;
    std::string queue;   // the parent of a possible node
    std::string leases;  // empty, or the parent of possible leases
  };
  using on_searched = std::function<void(std::optional<store::request_error>)>;

  /// \param nodes must outlive it.
  /// \param on_removed is called with each path that is gone.
  reaper(wire_nodes& nodes, layout style, std::function<void(const std::string&)> on_removed)
      : nodes_{nodes}, style_{style}, on_removed_{std::move(on_removed)} {}
  reaper(const reaper&) = delete;
  reaper& operator=(const reaper&) = delete;

  /// Removes a node, with retries until it is gone.
  void remove(const std::string& path) {
    pending_.insert(path);
    nodes_.submit({.kind = operation_kind::remove, .path = path}, [this, path](const result& r) {
      if (is_error(r)) return;
      pending_.erase(path);
      on_removed_(path);
    });
  }
  /// Sends a removal with an unknown outcome again over the next connection.
  void remove_again_later(const std::string& path) { pending_.insert(path); }
  [[nodiscard]] bool is_pending(const std::string& path) const { return pending_.contains(path); }

  /// Searches for nodes and removes them. Without a connection it searches over the next one.
  /// \param handler gets the error that prevents a search now, and does not wait for the removal of nodes.
  void search(const orphan& lost, const on_searched& handler) {
    // A `sync` is not enough: a deposed leader that does not know it yet answers a `sync` by itself.
    std::vector<operation> steps{{.kind = operation_kind::agree, .path = "/"},
                                 {.kind = operation_kind::list, .path = lost.queue}};
    if (!lost.leases.empty()) steps.push_back({.kind = operation_kind::list, .path = lost.leases});
    nodes_.submit_all(std::move(steps),
                      [this, lost, handler, session = nodes_.session()](const std::vector<result>& results) {
                        const auto failed = std::find_if(results.begin() + 1, results.end(), is_error);
                        if (is_agreed(results[0]) && failed == results.end()) {
                          remove_found(lost, results);
                          return handler(std::nullopt);
                        }
                        if (session == nodes_.session() || session == 0) orphans_.push_back(lost);
                        handler(request_error_of(is_agreed(results[0]) ? *failed : results[0]));
                      });
  }

  /// Over a new connection.
  void resume() {
    for (const std::string& path : std::set<std::string>{pending_}) remove(path);
    for (const orphan& each : std::exchange(orphans_, {}))
      search(each, [](const std::optional<store::request_error>&) {});
  }
  /// Called when the servers have removed the session's nodes.
  void expired() {
    pending_.clear();
    orphans_.clear();
  }

 private:
  void remove_found(const orphan& lost, const std::vector<result>& lists) {
    for (const result& r : lists) {
      for (const contender& each : made_with(style_, lost.guid, r.children)) remove(r.path + '/' + each.node);
    }
  }

  wire_nodes& nodes_;
  const layout style_;
  const std::function<void(const std::string&)> on_removed_;
  std::set<std::string> pending_;
  std::vector<orphan> orphans_;
};

}  // namespace holdfast::zookeeper
