#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/ordered_nodes.hpp"

namespace holdfast::zookeeper {

/// Notices when claims come or go anywhere below a root, for programs that show locks to people.
///
/// A watch covers the children of one node, so each node that may have children is watched. A read after the
/// call of the handler sees all changes from before the watch was set. If there is no room for a watch, the
/// handler is called once a second.
class tree_watch {
 public:
  /// \param time must outlive it, and so must `nodes`.
  /// \param root empty, or a path.
  /// \param is_needed whether another part of the session needs the watch of a node's children.
  tree_watch(store::scheduler& time, ordered_nodes& nodes, std::string root,
             std::function<bool(const std::string&)> is_needed);
  ~tree_watch();
  tree_watch(const tree_watch&) = delete;
  tree_watch& operator=(const tree_watch&) = delete;

  /// \param handler is called after changes; null: no more.
  void watch(std::function<void()> handler);

  [[nodiscard]] bool watches(const std::string& path) const { return watched_.contains(path); }

  void connected();
  void expired() { watched_.clear(); }
  void happened(const std::string& path, change event);

 private:
  [[nodiscard]] std::string top() const { return root_.empty() ? "/" : root_; }
  void watch_below(const std::string& path);
  void look_later();

  store::scheduler& time_;
  ordered_nodes& nodes_;
  const std::string root_;
  const std::function<bool(const std::string&)> is_needed_;
  std::function<void()> handler_;
  std::set<std::string> watched_;
  store::scheduler::timer next_look_ = 0;
};

}  // namespace holdfast::zookeeper
