#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/owner_id.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/ordered_nodes.hpp"

namespace holdfast::zookeeper {

/// Removes nodes of the client's own that must not stay, whether or not anybody still asks for it.
///
/// - A node that is known is removed, and again over the next connection, until the servers have answered.
/// - Of a node that may have been made under a number that is not known (the reply to its creation was lost)
///   only the guid is known. It is searched for by that, as Curator's protection does, after a vote, so that
///   a server that lags behind cannot hide it.
/// - The end of the session removes all of them, and so ends both.
class reaper {
 public:
  /// What may have come about under a number that is not known.
  struct orphan {
    owner_id guid;
    std::string queue;   // below which there may be a node
    std::string leases;  // empty, or the node below which there may be some
  };
  using on_searched = std::function<void(std::optional<store::trouble>)>;

  /// \param nodes must outlive it.
  /// \param on_removed hears each path that is gone.
  reaper(ordered_nodes& nodes, layout style, std::function<void(const std::string&)> on_removed)
      : nodes_{nodes}, style_{style}, on_removed_{std::move(on_removed)} {}
  reaper(const reaper&) = delete;
  reaper& operator=(const reaper&) = delete;

  /// Removes a node, however long it takes.
  void remove(const std::string& path);
  /// A removal was sent, and its outcome is not known: it is sent again over the next connection.
  void remove_again_later(const std::string& path) { pending_.insert(path); }
  [[nodiscard]] bool is_pending(const std::string& path) const { return pending_.contains(path); }

  /// Searches for nodes and removes them. If it cannot search now, it searches over the next connection.
  /// \param handler hears the trouble that keeps it from searching now; that nodes are removed is not waited
  ///   for.
  void search(const orphan& lost, const on_searched& handler);

  // Over a new connection:
  void resume_removals();
  void resume_searches();
  /// The servers have removed the nodes.
  void expired();

 private:
  ordered_nodes& nodes_;
  const layout style_;
  const std::function<void(const std::string&)> on_removed_;
  std::set<std::string> pending_;
  std::vector<orphan> orphans_;
};

}  // namespace holdfast::zookeeper
