#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/scheduler.hpp"
#include "stores/zookeeper/protocol/ordered_nodes.hpp"

namespace holdfast::zookeeper {

/// Notices when claims of single names come or go.
///
/// It watches the children of the lock's node, and of the nodes `locks` and `leases` below it, which a
/// semaphore has. Where there is no node yet it watches for its creation, and makes nothing. A read after the
/// call of a handler sees all changes from before the watch was set. Where there is no room for a watch, or
/// no right to read, the handler is called once a second.
///
/// A node whose name has the lock's before a slash is a child of the lock's node. Its creation and its end
/// are events of both names.
class name_watch {
 public:
  /// \param time must outlive it, and so must `nodes`.
  /// \param root empty, or the path below which the names are.
  /// \param is_needed whether another part of the session needs the watch of a node's children.
  name_watch(store::scheduler& time, ordered_nodes& nodes, std::string root,
             std::function<bool(const std::string&)> is_needed);
  ~name_watch();
  name_watch(const name_watch&) = delete;
  name_watch& operator=(const name_watch&) = delete;

  /// \param handler is called after changes of the name; null: no more.
  void watch(std::string_view name, std::function<void()> handler);

  /// Whether it needs the watch of a node's children.
  [[nodiscard]] bool watches(const std::string& path) const;

  void connected();
  void expired();
  void happened(const std::string& path, change event);

 private:
  struct lock {
    std::function<void()> handler;
    std::set<std::string> listed;  // nodes whose children are watched, or about to be
    bool is_awaited = false;       // likewise, whether the node itself is
    bool is_polled = false;        // something could not be watched
  };

  [[nodiscard]] lock* lock_of(const std::string& path);
  [[nodiscard]] bool is_lock(const std::string& path) const { return locks_.contains(path); }
  void list(const std::string& path);
  void listed(const std::string& path, const result& r);
  void await_creation(const std::string& path);
  void poll(lock& l);
  void look_later();

  store::scheduler& time_;
  ordered_nodes& nodes_;
  const std::string root_;
  const std::function<bool(const std::string&)> is_needed_;
  std::map<std::string, lock> locks_;  // by the paths of their nodes
  store::scheduler::timer next_look_ = 0;
};

}  // namespace holdfast::zookeeper
