// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"
#include "stores/zookeeper/protocol/wire.hpp"

namespace holdfast::zookeeper {

/// The nodes of a ZooKeeper ensemble, over a wire, in the client's session.
///
/// All watches of a client together are bounded. Apache's C client puts all watched paths into one packet
/// after a reconnect. The servers close the connection on a packet above `jute.maxbuffer`, 1 MiB by
/// default. The client then connects and sends it again, for ever. So the sum of the paths has a limit.
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
  void connected(std::int64_t session) {
    session_ = session;
    connected_ = true;
  }
  void disconnected() { connected_ = false; }
  /// The servers have removed the session's nodes and watches.
  void expired() {
    connected_ = false;
    session_ = 0;
    watches_.clear();
    watched_bytes_ = 0;
    crowded_.clear();
    unreadable_.clear();
    unwanted_.clear();
  }
  /// A watch was delivered; or the node is gone, and its watch with it.
  void happened(const std::string& path, change event) {
    if (event != change::children) forget_watch({path, watch_kind::node});
    if (event != change::data && event != change::created) forget_watch({path, watch_kind::children});
    if (event == change::removed) crowded_.erase(path);
    unreadable_.erase(path);
  }

  [[nodiscard]] bool is_connected() const { return connected_; }
  /// The number of the session; zero: there is none yet.
  [[nodiscard]] std::int64_t session() const { return session_; }

  /// \param step has no watch.
  void submit(operation step, on_result handler = [](const result&) {}) {
    if (step.kind != operation_kind::remove) return wire_.submit(std::move(step), std::move(handler));
    wire_.submit(std::move(step), [this, handler = std::move(handler)](result r) {
      --removals_;
      handler(std::move(r));
      if (removals_ == 0 && removed_) std::exchange(removed_, nullptr)();
    });
    ++removals_;
  }
  /// Sends all at once.
  /// \param steps at least one; may watch.
  /// \param handler gets all results, in the order of the steps, when all are answered.
  void submit_all(std::vector<operation> steps, on_results handler) {
    struct batch {
      std::vector<result> results;
      on_results handler;
    };
    const auto shared = std::make_shared<batch>();
    shared->handler = std::move(handler);
    const std::size_t size = steps.size();
    for (operation& step : steps) {
      const bool watches = step.watch;
      const bool exists = step.kind == operation_kind::exists;
      const watch w{step.path, step.kind == operation_kind::list ? watch_kind::children : watch_kind::node};
      if (watches && watches_.try_emplace(w, false).second) watched_bytes_ += size_of(w.first);
      submit(std::move(step), [this, shared, size, w, exists, watches](result r) {
        const bool is_set = r.code == answer::done || (exists && r.code == answer::no_node);
        if (watches && is_set) {
          if (watches_.insert_or_assign(w, true).second) watched_bytes_ += size_of(w.first);
          crowded_.erase(w.first);
          if (r.children.size() > crowd) crowded_.insert(w.first);
        } else if (watches) {
          // A watch that was confirmed before stays.
          if (const auto found = watches_.find(w); found != watches_.end() && !found->second) forget_watch(w);
        }
        shared->results.push_back(std::move(r));
        if (shared->results.size() == size) shared->handler(std::move(shared->results));
      });
    }
  }
  /// Makes the nodes above `path` and that node itself, as containers: the servers remove them some time
  /// after the last child.
  void make_parents(const std::string& path, on_made handler) {
    std::vector<operation> steps;
    std::vector<std::string> paths = parents_of(path);
    paths.push_back(path);
    steps.reserve(paths.size());
    for (std::string& each : paths) {
      // The data shows people that the node was a lock, when it has no claims any more.
      const bool is_lock = &each == &paths.back();
      steps.push_back({.kind = operation_kind::create,
                       .path = std::move(each),
                       .data = is_lock ? to_text(note{}) : std::string{},
                       .make = operation::made::container});
    }
    submit_all(std::move(steps), [handler = std::move(handler)](const std::vector<result>& results) {
      const auto is_there = [](const result& r) {
        return r.code == answer::done || r.code == answer::node_exists;
      };
      // Nodes above a chroot exist and cannot be created; only the lowest result counts.
      if (is_there(results.back())) return handler(std::nullopt);
      handler(request_error_of(*std::find_if_not(results.begin(), results.end(), is_there)));
    });
  }
  /// Calls it once no removal is without an answer, which may be at once. Later calls replace it.
  void when_removed(std::function<void()> action) {
    if (removals_ == 0) return action();
    removed_ = std::move(action);
  }

  /// The step that finds out whether a node exists. It also watches the node, if the node may be read and
  /// `watch` is set.
  [[nodiscard]] operation look_at(const std::string& path, bool watch) const {
    if (unreadable_.contains(path)) return {.kind = operation_kind::exists, .path = path};
    return {.kind = operation_kind::get, .path = path, .watch = watch};
  }

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
  [[nodiscard]] bool can_watch(const std::vector<std::string>& own, std::size_t& planned_bytes) const {
    std::size_t together = planned_bytes;
    for (const std::string& path : own) {
      if (!is_readable(path)) return false;
      together += size_of(path);
    }
    if (watched_bytes_ + together > most_watched_with_own) return false;
    planned_bytes = together;
    return true;
  }
  /// Ends a watch; without a connection, over the next one. Watches that are not needed any more would make
  /// a release wake many clients.
  void end_watch(const std::string& path, watch_kind kind) {
    const bool is_of_children = kind == watch_kind::children;
    wire_.submit({.kind = operation_kind::unwatch, .path = path, .children = is_of_children},
                 [this, path, kind, session = session_](const result& r) {
                   if (session != session_) return;
                   if (is_unanswered(r)) {
                     unwanted_[path] = kind;
                   } else {
                     forget_watch({path, kind});
                   }
                 });
  }
  /// Returns and forgets the watches that could not be ended without a connection.
  [[nodiscard]] std::map<std::string, watch_kind> take_unwanted_watches() {
    return std::exchange(unwanted_, {});
  }
  /// Whether the last list with a watch was so long that others should not follow without a pause.
  [[nodiscard]] bool is_crowded(const std::string& path) const { return crowded_.contains(path); }

  [[nodiscard]] bool is_readable(const std::string& path) const { return !unreadable_.contains(path); }
  /// Remembers that a read of the node was refused, so that it cannot be watched.
  /// \return whether that was not known before.
  bool set_unreadable(const std::string& path) { return unreadable_.insert(path).second; }
  /// Forgets that, because the node is gone, has changed, or does not matter any more.
  void forget_unreadable(const std::string& path) { unreadable_.erase(path); }

 private:
  /// Some 60 kB of names.
  static constexpr std::size_t crowd = 1000;

  using watch = std::pair<std::string, watch_kind>;

  /// In the packet that sets the watches again, each path has its length before it.
  [[nodiscard]] static std::size_t size_of(const std::string& path) { return path.size() + 4; }
  void forget_watch(const watch& w) {
    if (watches_.erase(w) != 0) watched_bytes_ -= size_of(w.first);
  }

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
