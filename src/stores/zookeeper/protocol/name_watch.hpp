// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler.hpp"
#include "core/watched.hpp"
#include "stores/zookeeper/protocol/layout.hpp"
#include "stores/zookeeper/protocol/paths.hpp"
#include "stores/zookeeper/protocol/wire_nodes.hpp"

namespace holdfast::zookeeper {

/// Notices when claims come or go, of single names or of all names.
///
/// A watch covers the children of one node. For a name it watches those of the lock's node, and of the nodes
/// `locks` and `leases` below it, which a semaphore has. If there is no node yet, it watches for its
/// creation, and makes nothing. For all names it watches those of each node that may have children, from the
/// topmost one on, which it makes. A read after the call of a handler sees all changes from before the watch
/// was set. If there is no room for a watch, or no right to read the nodes of a name, the handler is called
/// once a second. So it is after changes of a long queue: where claims come and go all the time, the lists of
/// it would be megabytes without a pause.
///
/// A node whose name has the lock's before a slash is a child of the lock's node. Its creation and its end
/// are events of both names.
class name_watch {
 public:
  /// \param time must outlive it, and so must `nodes`.
  /// \param root empty, or the path below which the names are.
  /// \param is_needed whether another part of the session needs the watch of a node's children.
  name_watch(store::scheduler& time, wire_nodes& nodes, std::string root,
             std::function<bool(const std::string&)> is_needed)
      : time_{time}, nodes_{nodes}, root_{std::move(root)}, is_needed_{std::move(is_needed)} {}
  ~name_watch() { time_.cancel(next_look_); }
  name_watch(const name_watch&) = delete;
  name_watch& operator=(const name_watch&) = delete;

  /// \param handler is called after changes of the target; null: no more.
  void watch(const store::watched& target, std::function<void()> handler) {
    const std::string key = target ? path_of(root_, *target) : std::string{};
    if (handler) {
      scopes_[key].handler = std::move(handler);
      if (nodes_.is_connected()) list(key, top(key));
      return;
    }
    const auto former = scopes_.extract(key);
    if (!former) return;
    for (const std::string& each : former.mapped().listed) {
      if (!is_needed_(each) && !watches(each)) nodes_.end_watch(each, watch_kind::children);
    }
    if (former.mapped().is_awaited) nodes_.end_watch(key, watch_kind::node);
  }

  /// Whether it needs the watch of a node's children.
  [[nodiscard]] bool watches(const std::string& path) const {
    for (const std::string& key : keys_for(path)) {
      const auto found = scopes_.find(key);
      if (found != scopes_.end() && found->second.listed.contains(path)) return true;
    }
    return false;
  }

  /// Lists all nodes anew. The watch of a node that does not exist outlives the connection: the client below
  /// sets it again, and it has to be ended with the watch of the name.
  void connected() {
    for (auto& [key, each] : scopes_) {
      each.listed.clear();
      list(key, top(key));
    }
  }
  void expired() {
    for (auto& [key, each] : scopes_) {
      each.listed.clear();
      each.is_awaited = false;
    }
  }
  void happened(const std::string& path, change event) {
    for (const std::string& key : keys_for(path)) {
      const auto found = scopes_.find(key);
      if (found == scopes_.end()) continue;
      bool was_watched = false;
      if (event != change::children && path == key)
        was_watched = std::exchange(found->second.is_awaited, false);
      if (event == change::children || event == change::removed)
        was_watched = found->second.listed.erase(path) != 0 || was_watched;
      // That a node below the topmost is gone is also an event of the node above it.
      if (!was_watched || (event != change::children && path != top(key))) continue;
      if (event == change::children && nodes_.is_crowded(path)) {
        look_later(found->second.crowded, path);
      } else {
        list(key, path);
      }
    }
  }

 private:
  /// The keys of the scopes that may watch a node: that of all names, of its lock, and of the lock whose part
  /// it is.
  static std::vector<std::string> keys_for(const std::string& path) {
    std::vector<std::string> keys{"", path};
    if (const std::size_t slash = path.rfind('/'); slash != 0) keys.push_back(path.substr(0, slash));
    return keys;
  }
  /// Whether the children of a child of `path` are watched, too.
  static bool follows(const std::string& key, const std::string& path, const std::string& child) {
    if (key.empty()) return !looks_like_contender(child) && !(path == "/" && child == "zookeeper");
    return path == key && (child == "locks" || child == "leases");
  }

  /// The nodes of one target. Its key is the path of the lock's node; empty: all names.
  struct scope {
    std::function<void()> handler;
    std::set<std::string> listed;     // nodes whose children are watched, or about to be
    std::set<std::string> unwatched;  // nodes that could not be watched
    std::set<std::string> crowded;    // nodes with many children, which have changed
    bool is_awaited = false;          // the creation of the lock's node is watched, or about to be
  };

  [[nodiscard]] std::string top(const std::string& key) const { return key.empty() ? top_of(root_) : key; }
  void list(const std::string& key, const std::string& path) {
    scope& s = scopes_.at(key);
    if (!nodes_.has_room(path, watch_kind::children)) return look_later(s.unwatched, path);
    if (!s.listed.insert(path).second) return;
    std::vector<operation> steps{{.kind = operation_kind::list, .path = path, .watch = true}};
    nodes_.submit_all(std::move(steps), [this, key, path](const std::vector<result>& results) {
      listed(key, path, results[0]);
    });
  }
  void listed(const std::string& key, const std::string& path, const result& r) {
    const auto found = scopes_.find(key);
    if (found == scopes_.end()) return;
    scope& s = found->second;
    if (r.code == answer::done) {
      for (const std::string& child : r.children) {
        if (follows(key, path, child)) list(key, (path == "/" ? "" : path) + '/' + child);
      }
      return s.handler();
    }
    s.listed.erase(path);
    if (is_unanswered(r)) return;  // the next connection begins anew
    if (r.code != answer::no_node && !key.empty()) return look_later(s.unwatched, path);
    if (r.code != answer::no_node || path != top(key)) return;
    if (!key.empty()) return await_creation(key);
    // No lock was ever used. A missing node cannot be watched.
    nodes_.make_parents(path, [this, path](const std::optional<store::request_error>& failed) {
      if (!failed && scopes_.contains("")) list("", path);
    });
  }
  void await_creation(const std::string& key) {
    scope& s = scopes_.at(key);
    if (!nodes_.has_room(key, watch_kind::node)) return look_later(s.unwatched, key);
    if (std::exchange(s.is_awaited, true)) return s.handler();
    std::vector<operation> steps{{.kind = operation_kind::exists, .path = key, .watch = true}};
    nodes_.submit_all(std::move(steps), [this, key](const std::vector<result>& results) {
      const auto found = scopes_.find(key);
      if (found == scopes_.end()) return;
      const result& r = results[0];
      if (r.code == answer::no_node) return found->second.handler();
      if (r.code == answer::done) return list(key, key);  // it was made meanwhile
      found->second.is_awaited = false;
      if (!is_unanswered(r)) look_later(found->second.unwatched, key);
    });
  }
  void look_later(std::set<std::string>& paths, const std::string& path) {
    paths.insert(path);
    if (next_look_ == 0)
      next_look_ = time_.at(time_.now() + std::chrono::seconds{1}, [this] { look_again(); });
  }
  void look_again() {
    next_look_ = 0;
    for (auto& [key, each] : scopes_) {
      std::set<std::string> paths = std::exchange(each.unwatched, {});
      if (!paths.empty()) each.handler();
      paths.merge(std::exchange(each.crowded, {}));
      if (!nodes_.is_connected()) continue;
      for (const std::string& again : paths) list(key, again);
    }
  }

  store::scheduler& time_;
  wire_nodes& nodes_;
  const std::string root_;
  const std::function<bool(const std::string&)> is_needed_;
  std::map<std::string, scope> scopes_;
  store::scheduler::timer next_look_ = 0;
};

}  // namespace holdfast::zookeeper
