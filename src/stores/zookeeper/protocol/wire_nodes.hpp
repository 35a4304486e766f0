#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// The nodes of a ZooKeeper ensemble, over a wire, in the client's session.
///
/// All watches of a client together are bounded. Apache's C client puts all watched paths into one packet
/// after a reconnect. The servers close the connection on a packet above `jute.maxbuffer`, 1 MiB by default.
/// The client then connects and sends it again, for ever. So the sum of the paths has a limit.
///
/// A node whose read was refused is polled by `exists`, which needs no permission and sets no watch: the
/// servers send a client no events of a node that it may not read. Callers ask before they watch, and poll
/// nodes that they cannot watch.
///
/// All calls and all handlers run under the client's core lock. No handler runs within the call. Steps are
/// carried out and answered in the order of sending.
class wire_nodes {
 public:
  /// The limit of all watched paths together, in bytes.
  static constexpr std::size_t most_watched = 900'000;
  /// The lower limit for watches of the client's own nodes: the watches of its waiters matter more.
  static constexpr std::size_t most_watched_with_own = 600'000;

  using on_result = wire::on_result;
  using on_results = std::function<void(std::vector<result>)>;
  /// Gets the reason if the nodes could not be made.
  using on_made = std::function<void(std::optional<store::request_error>)>;

  /// \param servers must outlive it, and must not answer after its destruction.
  explicit wire_nodes(wire& servers) : wire_{servers} {}
  wire_nodes(const wire_nodes&) = delete;
  wire_nodes& operator=(const wire_nodes&) = delete;

  // Events of the session, in their order among the answers.
  /// Watches of the same session are still set.
  void connected(std::int64_t session);
  void disconnected() { connected_ = false; }
  /// The servers have removed the session's nodes and watches.
  void expired();
  /// A watch was delivered; or the node is gone, and its watch with it.
  void happened(const std::string& path, change event);

  [[nodiscard]] bool is_connected() const { return connected_; }
  /// The number of the session; zero: there is none yet.
  [[nodiscard]] std::int64_t session() const { return session_; }

  /// \param step has no watch.
  void submit(operation step, on_result handler = [](const result&) {});
  /// Sends all at once.
  /// \param steps at least one; may watch.
  /// \param handler gets all results, in the order of the steps, when all are answered.
  void submit_all(std::vector<operation> steps, on_results handler);
  /// Makes the nodes above `path` and that node itself, as containers: the servers remove them some time
  /// after the last child.
  void make_parents(const std::string& path, on_made handler);
  /// Calls it once no removal is without an answer, which may be at once. Later calls replace it.
  void when_removed(std::function<void()> action);

  /// The step that finds out whether a node exists. It also watches the node, if the node may be read and
  /// `watch` is set.
  [[nodiscard]] operation look_at(const std::string& path, bool watch) const;

  /// Whether a watch was sent, and has neither failed nor been delivered.
  [[nodiscard]] bool is_watched(const std::string& path, watch_kind kind) const {
    return watches_.contains({path, kind});
  }
  /// Whether the watch is set, or there is room for it.
  [[nodiscard]] bool has_room(const std::string& path, watch_kind kind) const {
    return is_watched(path, kind) || watched_bytes_ + size_of(path) <= most_watched;
  }
  /// Whether all of these nodes of this client can be watched. None of them is watched yet.
  /// \param planned_bytes of watches that will be sent before; gets them added, if so.
  [[nodiscard]] bool can_watch(const std::vector<std::string>& own, std::size_t& planned_bytes) const;
  /// Ends a watch; without a connection, over the next one. Watches that are not needed any more would make a
  /// release wake many clients.
  void end_watch(const std::string& path, watch_kind kind);
  /// Returns and forgets the watches that could not be ended without a connection.
  [[nodiscard]] std::map<std::string, watch_kind> take_unwanted_watches();
  /// Whether the last list with a watch was so long that others should not follow without a pause.
  [[nodiscard]] bool is_crowded(const std::string& path) const { return crowded_.contains(path); }

  [[nodiscard]] bool is_readable(const std::string& path) const { return !unreadable_.contains(path); }
  /// Remembers that a read of the node was refused, so that it cannot be watched.
  /// \return whether that was not known before.
  bool set_unreadable(const std::string& path) { return unreadable_.insert(path).second; }
  /// Forgets that, because the node is gone, has changed, or does not matter any more.
  void forget_unreadable(const std::string& path) { unreadable_.erase(path); }

 private:
  using watch = std::pair<std::string, watch_kind>;

  /// In the packet that sets the watches again, each path has its length before it.
  [[nodiscard]] static std::size_t size_of(const std::string& path) { return path.size() + 4; }
  void forget_watch(const watch& w);

  wire& wire_;
  std::size_t removals_ = 0;         // those without an answer
  std::function<void()> removed_{};  // see when_removed
  bool connected_ = false;
  std::int64_t session_ = 0;
  std::map<watch, bool> watches_;  // whether the servers have confirmed it
  std::size_t watched_bytes_ = 0;
  std::set<std::string> crowded_;
  std::set<std::string> unreadable_;
  std::map<std::string, watch_kind> unwanted_;  // watches to be ended
};

}  // namespace holdfast::zookeeper
