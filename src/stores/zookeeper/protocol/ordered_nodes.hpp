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

/// Watches that are to be set, together.
struct watch_load {
  std::size_t count = 0;
  std::size_t bytes = 0;  // of their paths

  void add(const std::string& path) {
    ++count;
    bytes += path.size();
  }
};

/// Nodes that a store keeps in the order of their creation, that go with the session of their maker, and that
/// can be watched. This is all that the recipes of locks, the clean-up and the inspection need of a store;
/// `wire_nodes` is that of ZooKeeper. A store of keys with leases and revisions, as etcd is, has the same:
/// the number of a node is the revision of its creation, and a vote is any write.
///
/// A store may bound the watches of a client, and may refuse to let a node be read. Callers ask before they
/// watch, and look from time to time at what they cannot watch.
///
/// All calls are made, and all handlers called, under the client's core lock. No handler is called within the
/// call. Steps are carried out and answered in the order of sending.
class ordered_nodes {
 public:
  using on_results = std::function<void(std::vector<result>)>;
  /// Hears why not, if they could not be made.
  using on_made = std::function<void(std::optional<store::trouble>)>;

  ordered_nodes() = default;
  ordered_nodes(const ordered_nodes&) = delete;
  ordered_nodes& operator=(const ordered_nodes&) = delete;
  virtual ~ordered_nodes() = default;

  /// \param step does not watch.
  virtual void submit(operation step, on_result handler) = 0;
  /// Sends all at once.
  /// \param steps at least one; may watch.
  /// \param handler hears all results, in the order of the steps, when all are answered.
  virtual void submit_all(std::vector<operation> steps, on_results handler) = 0;
  /// Makes the nodes above `path` and that node itself, as containers: the servers remove them some time
  /// after the last child.
  virtual void make_parents(const std::string& path, on_made handler) = 0;

  [[nodiscard]] virtual bool is_connected() const = 0;
  /// The number of the session; zero: there is none yet.
  [[nodiscard]] virtual std::int64_t session() const = 0;

  /// What says whether a node is there. It watches it, too, if it may be read and `watch` is set.
  [[nodiscard]] virtual operation look_at(const std::string& path, bool watch) const = 0;

  /// Whether a watch was sent, and neither failed nor was delivered.
  [[nodiscard]] virtual bool is_watched(const std::string& path, watch_kind kind) const = 0;
  /// Whether there is room for a watch, or it is there.
  [[nodiscard]] virtual bool has_room(const std::string& path, watch_kind kind) const = 0;
  /// Likewise of a node of the client's own. What its waiters wait for matters more, and has more room.
  [[nodiscard]] virtual bool has_room_for_own(const std::string& path) const = 0;
  /// Likewise of several that are not watched yet.
  [[nodiscard]] virtual bool has_room_for_own(const watch_load& together) const = 0;
  /// A watch of a store outlives its connection. Where it cannot be ended for lack of one, it is kept in
  /// mind.
  virtual void end_watch(const std::string& path, watch_kind kind) = 0;
  /// Watches that could not be ended for lack of a connection; they are forgotten here.
  [[nodiscard]] virtual std::map<std::string, watch_kind> take_unwanted_watches() = 0;

  [[nodiscard]] virtual bool is_readable(const std::string& path) const = 0;
  /// A read of it was refused, so that it cannot be watched.
  /// \return whether that is news.
  virtual bool set_unreadable(const std::string& path) = 0;
  /// It may be readable: it is gone, has changed, or does not matter any more.
  virtual void forget_unreadable(const std::string& path) = 0;
  /// A node is gone, and its watch with it.
  virtual void forget_watch(const std::string& path) = 0;
};

}  // namespace holdfast::zookeeper
