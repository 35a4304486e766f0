#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

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

/// The watches that a client has at the servers, and how large the packet is that sets them again after a
/// reconnect.
///
/// Apache's C client puts all watched paths into one packet. The servers close the connection on a packet
/// above `jute.maxbuffer`, 1 MiB by default. The client then connects and sends it again, for ever. So the
/// sum of the paths has a limit.
class watch_table {
 public:
  /// The limit of all watches together, in bytes.
  static constexpr std::size_t most = 900'000;
  /// The lower limit for watches of the client's own nodes: the watches of its waiters matter more.
  static constexpr std::size_t most_with_own = 600'000;

  /// Whether a watch can be set: it is set already, or there is room.
  [[nodiscard]] bool has_room(const std::string& path, watch_kind kind) const {
    return contains(path, kind) || bytes_ + size_of(path) <= most;
  }
  /// The same for several of the client's own nodes, none of which is set yet.
  [[nodiscard]] bool has_room_for_own(const watch_load& together) const {
    return bytes_ + together.bytes + 4 * together.count <= most_with_own;
  }
  [[nodiscard]] bool contains(const std::string& path, watch_kind kind) const {
    return all_.contains(key{path, kind});
  }
  /// Called when a watch was sent to the servers.
  void sent(const std::string& path, watch_kind kind) {
    if (all_.try_emplace(key{path, kind}, false).second) bytes_ += size_of(path);
  }
  /// Called when the servers have confirmed it.
  void set(const std::string& path, watch_kind kind) {
    sent(path, kind);
    all_[key{path, kind}] = true;
  }
  /// Called when the servers refused it. A watch that was confirmed before stays.
  void failed(const std::string& path, watch_kind kind) {
    const auto found = all_.find(key{path, kind});
    if (found != all_.end() && !found->second) remove(path, kind);
  }
  /// Called when it was delivered or ended.
  void remove(const std::string& path, watch_kind kind) {
    if (all_.erase(key{path, kind}) != 0) bytes_ -= size_of(path);
  }
  void clear() {
    all_.clear();
    bytes_ = 0;
  }

 private:
  using key = std::pair<std::string, watch_kind>;
  /// In the packet each path has its length before it.
  [[nodiscard]] static std::size_t size_of(const std::string& path) { return path.size() + 4; }

  std::map<key, bool> all_;  // whether the servers have confirmed it
  std::size_t bytes_ = 0;
};

}  // namespace holdfast::zookeeper
