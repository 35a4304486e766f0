#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

/// Watches to be set together.
struct watch_load {
  std::size_t count = 0;
  std::size_t bytes = 0;  // of their paths

  void add(const std::string& path) {
    ++count;
    bytes += path.size();
  }
};

/// Nodes that a store numbers in the order of their creation, removes with the session of their creator, and
/// lets clients watch. The recipes of locks, the clean-up and the inspection need nothing else of a store.
/// `wire_nodes` implements it for ZooKeeper. A store of keys with leases and revisions, such as etcd, has the
/// same: the number of a node is the revision of its creation, and a vote is any write.
///
/// A store may limit the watches of a client, and may refuse the read of a node. Callers ask before they
/// watch, and poll nodes that they cannot watch.
///
/// All calls and all handlers run under the client's core lock. No handler runs within the call. Steps are
/// carried out and answered in the order of sending.
class ordered_nodes {
 public:
  using on_results = std::function<void(std::vector<result>)>;
  /// Gets the reason if the nodes could not be made.
  using on_made = std::function<void(std::optional<store::request_error>)>;

  ordered_nodes() = default;
  ordered_nodes(const ordered_nodes&) = delete;
  ordered_nodes& operator=(const ordered_nodes&) = delete;
  virtual ~ordered_nodes() = default;

  /// \param step has no watch.
  virtual void submit(operation step, on_result handler) = 0;
  /// Sends all at once.
  /// \param steps at least one; may watch.
  /// \param handler gets all results, in the order of the steps, when all are answered.
  virtual void submit_all(std::vector<operation> steps, on_results handler) = 0;
  /// Makes the nodes above `path` and that node itself, as containers: the servers remove them some time
  /// after the last child.
  virtual void make_parents(const std::string& path, on_made handler) = 0;

  [[nodiscard]] virtual bool is_connected() const = 0;
  /// The number of the session; zero: there is none yet.
  [[nodiscard]] virtual std::int64_t session() const = 0;

  /// The step that finds out whether a node exists. It also watches the node, if the node may be read and
  /// `watch` is set.
  [[nodiscard]] virtual operation look_at(const std::string& path, bool watch) const = 0;

  /// Whether a watch was sent, and has neither failed nor been delivered.
  [[nodiscard]] virtual bool is_watched(const std::string& path, watch_kind kind) const = 0;
  /// Whether the watch is set, or there is room for it.
  [[nodiscard]] virtual bool has_room(const std::string& path, watch_kind kind) const = 0;
  /// The same for a node of this client. The watches of its waiters matter more, and have more room.
  [[nodiscard]] virtual bool has_room_for_own(const std::string& path) const = 0;
  /// The same for several nodes that are not watched yet.
  [[nodiscard]] virtual bool has_room_for_own(const watch_load& together) const = 0;
  /// Ends a watch. It outlives its connection, so without a connection its end is remembered for the next
  /// one.
  virtual void end_watch(const std::string& path, watch_kind kind) = 0;
  /// Returns and forgets the watches that could not be ended without a connection.
  [[nodiscard]] virtual std::map<std::string, watch_kind> take_unwanted_watches() = 0;

  [[nodiscard]] virtual bool is_readable(const std::string& path) const = 0;
  /// Remembers that a read of the node was refused, so that it cannot be watched.
  /// \return whether that was not known before.
  virtual bool set_unreadable(const std::string& path) = 0;
  /// Forgets that, because the node is gone, has changed, or does not matter any more.
  virtual void forget_unreadable(const std::string& path) = 0;
  /// Called when a node is gone, and its watch with it.
  virtual void forget_watch(const std::string& path) = 0;
};

}  // namespace holdfast::zookeeper
