#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/scheduler.hpp"
#include "core/watched.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// Notices when claims come or go, of single names or of all names.
///
/// A watch covers the children of one node. For a name it watches those of the lock's node, and of the nodes
/// `locks` and `leases` below it, which a semaphore has. If there is no node yet, it watches for its
/// creation, and makes nothing. For all names it watches those of each node that may have children, from the
/// topmost one on, which it makes. A read after the call of a handler sees all changes from before the watch
/// was set. In a long queue, where claims come and go all the time, that would be megabytes without a pause:
/// after a change of so many children the handler is called a second later. If there is no room for a watch,
/// or no right to read the nodes of a name, the handler is called once a second.
///
/// A node whose name has the lock's before a slash is a child of the lock's node. Its creation and its end
/// are events of both names.
class name_watch {
 public:
  /// \param time must outlive it, and so must `nodes`.
  /// \param root empty, or the path below which the names are.
  /// \param is_needed whether another part of the session needs the watch of a node's children.
  name_watch(store::scheduler& time, wire_nodes& nodes, std::string root,
             std::function<bool(const std::string&)> is_needed);
  ~name_watch();
  name_watch(const name_watch&) = delete;
  name_watch& operator=(const name_watch&) = delete;

  /// \param handler is called after changes of the target; null: no more.
  void watch(const store::watched& target, std::function<void()> handler);

  /// Whether it needs the watch of a node's children.
  [[nodiscard]] bool watches(const std::string& path) const;

  void connected();
  void expired();
  void happened(const std::string& path, change event);

 private:
  /// The nodes of one target. Its key is the path of the lock's node; empty: all names.
  struct scope {
    std::function<void()> handler;
    std::set<std::string> listed;     // nodes whose children are watched, or about to be
    std::set<std::string> unwatched;  // nodes that could not be watched
    std::set<std::string> crowded;    // nodes with many children, which have changed
    bool is_awaited = false;          // the creation of the lock's node is watched, or about to be
  };

  [[nodiscard]] std::string top(const std::string& key) const;
  void list(const std::string& key, const std::string& path);
  void listed(const std::string& key, const std::string& path, const result& r);
  void await_creation(const std::string& key);
  void look_later(std::set<std::string>& paths, const std::string& path);
  void look_again();

  store::scheduler& time_;
  wire_nodes& nodes_;
  const std::string root_;
  const std::function<bool(const std::string&)> is_needed_;
  std::map<std::string, scope> scopes_;
  store::scheduler::timer next_look_ = 0;
};

}  // namespace holdfast::zookeeper
