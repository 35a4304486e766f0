#pragma once

#include <set>

#include "stores/zookeeper/protocol/ordered_nodes.hpp"
#include "stores/zookeeper/protocol/watch_table.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// The nodes of a ZooKeeper ensemble, over a wire, in the client's session.
///
/// All watches of a client together are bounded (see `watch_table`). A node whose read was refused is polled
/// by `exists`, which needs no permission and sets no watch: the servers send a client no events of a node
/// that it may not read.
class wire_nodes final : public ordered_nodes {
 public:
  /// \param servers must outlive it, and must not answer after its destruction.
  explicit wire_nodes(wire& servers) : wire_{servers} {}

  // Events of the session, in their order among the answers.
  /// Watches of the same session are still set.
  void connected(std::int64_t session);
  void disconnected() { connected_ = false; }
  /// The servers have removed the session's nodes and watches.
  void expired();
  /// A watch was delivered.
  void happened(const std::string& path, change event);

  void submit(operation step, on_result handler) override;
  void submit_all(std::vector<operation> steps, on_results handler) override;
  void make_parents(const std::string& path, on_made handler) override;

  [[nodiscard]] bool is_connected() const override { return connected_; }
  [[nodiscard]] std::int64_t session() const override { return session_; }

  [[nodiscard]] operation look_at(const std::string& path, bool watch) const override;
  [[nodiscard]] bool is_watched(const std::string& path, watch_kind kind) const override {
    return watches_.contains(path, kind);
  }
  [[nodiscard]] bool has_room(const std::string& path, watch_kind kind) const override {
    return watches_.has_room(path, kind);
  }
  [[nodiscard]] bool has_room_for_own(const std::string& path) const override {
    return watches_.has_room(path, watch_kind::node, watch_table::most_with_own);
  }
  [[nodiscard]] bool has_room_for_own(const watch_load& together) const override {
    return watches_.has_room(together.count, together.bytes, watch_table::most_with_own);
  }
  void end_watch(const std::string& path, watch_kind kind) override;
  [[nodiscard]] std::map<std::string, watch_kind> take_unwanted_watches() override;

  /// Whether the last list with a watch was so long that others should not follow without a pause.
  [[nodiscard]] bool is_crowded(const std::string& path) const { return crowded_.contains(path); }

  [[nodiscard]] bool is_readable(const std::string& path) const override {
    return !unreadable_.contains(path);
  }
  bool set_unreadable(const std::string& path) override { return unreadable_.insert(path).second; }
  void forget_unreadable(const std::string& path) override { unreadable_.erase(path); }
  void forget_watch(const std::string& path) override { happened(path, change::removed); }

  /// Calls it once no removal is without an answer, which may be at once. Later calls replace it.
  void when_removed(std::function<void()> action);

 private:
  void send(operation step, on_result handler);

  wire& wire_;
  std::size_t removals_ = 0;         // those without an answer
  std::function<void()> removed_{};  // see when_removed
  bool connected_ = false;
  std::int64_t session_ = 0;
  watch_table watches_;
  std::set<std::string> crowded_;
  std::set<std::string> unreadable_;
  std::map<std::string, watch_kind> unwanted_;  // watches to be ended
};

}  // namespace holdfast::zookeeper
