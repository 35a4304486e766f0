#include "stores/zookeeper/protocol/name_watch.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

namespace {

/// Whether it is a folder of a semaphore's contenders, below the lock's node.
bool is_part_of_lock(std::string_view child) { return child == "locks" || child == "leases"; }

}  // namespace

name_watch::name_watch(store::scheduler& time, ordered_nodes& nodes, std::string root,
                       std::function<bool(const std::string&)> is_needed)
    : time_{time}, nodes_{nodes}, root_{std::move(root)}, is_needed_{std::move(is_needed)} {}

name_watch::~name_watch() { time_.cancel(next_look_); }

void name_watch::watch(std::string_view name, std::function<void()> handler) {
  const std::string path = path_of(root_, name);
  if (handler) {
    locks_[path].handler = std::move(handler);
    if (nodes_.is_connected()) list(path);
    return;
  }
  const auto found = locks_.find(path);
  if (found == locks_.end()) return;
  const lock former = std::move(found->second);
  locks_.erase(found);
  for (const std::string& each : former.listed) {
    if (!is_needed_(each)) nodes_.end_watch(each, watch_kind::children);
  }
  if (former.is_awaited) nodes_.end_watch(path, watch_kind::node);
}

bool name_watch::watches(const std::string& path) const {
  const auto found = locks_.find(path);
  if (found != locks_.end()) return found->second.listed.contains(path);
  const auto above = locks_.find(path.substr(0, path.rfind('/')));
  return above != locks_.end() && above->second.listed.contains(path);
}

/// Lists all nodes anew. The watch of a node that does not exist outlives the connection: the client below
/// sets it again, and it has to be ended with the watch of the name.
void name_watch::connected() {
  for (auto& [path, each] : locks_) {
    each.listed.clear();
    list(path);
  }
}

void name_watch::expired() {
  for (auto& [path, each] : locks_) {
    each.listed.clear();
    each.is_awaited = false;
  }
}

void name_watch::happened(const std::string& path, change event) {
  lock* const l = lock_of(path);
  if (l == nullptr) return;
  bool was_watched = false;
  if (event != change::children && is_lock(path)) was_watched = std::exchange(l->is_awaited, false);
  if (event == change::children || event == change::removed)
    was_watched = l->listed.erase(path) != 0 || was_watched;
  // That a part of a lock is gone is also an event of the lock's node.
  if (was_watched && (is_lock(path) || event == change::children)) list(path);
}

name_watch::lock* name_watch::lock_of(const std::string& path) {
  auto found = locks_.find(path);
  const std::size_t slash = path.rfind('/');
  if (found == locks_.end() && slash != std::string::npos &&
      is_part_of_lock(std::string_view{path}.substr(slash + 1))) {
    found = locks_.find(path.substr(0, slash));
  }
  return found == locks_.end() ? nullptr : &found->second;
}

void name_watch::list(const std::string& path) {
  lock& l = *lock_of(path);
  if (!nodes_.has_room(path, watch_kind::children)) return poll(l);
  if (!l.listed.insert(path).second) return;
  std::vector<operation> steps{{.kind = operation_kind::list, .path = path, .watch = true}};
  nodes_.submit_all(std::move(steps),
                    [this, path](const std::vector<result>& results) { listed(path, results[0]); });
}

void name_watch::listed(const std::string& path, const result& r) {
  lock* const l = lock_of(path);
  if (l == nullptr) return;
  if (r.code == answer::done) {
    for (const std::string& child : r.children) {
      if (is_lock(path) && is_part_of_lock(child)) list(std::string{path}.append("/").append(child));
    }
    return l->handler();
  }
  l->listed.erase(path);
  if (is_unanswered(r)) return;  // the next connection begins anew
  if (r.code != answer::no_node) return poll(*l);
  if (is_lock(path)) await_creation(path);
}

void name_watch::await_creation(const std::string& path) {
  lock& l = locks_.at(path);
  if (!nodes_.has_room(path, watch_kind::node)) return poll(l);
  if (std::exchange(l.is_awaited, true)) return l.handler();
  std::vector<operation> steps{{.kind = operation_kind::exists, .path = path, .watch = true}};
  nodes_.submit_all(std::move(steps), [this, path](const std::vector<result>& results) {
    const auto found = locks_.find(path);
    if (found == locks_.end()) return;
    lock& awaited = found->second;
    const result& r = results[0];
    if (r.code == answer::no_node) return awaited.handler();
    if (r.code == answer::done) return list(path);  // it was made meanwhile
    awaited.is_awaited = false;
    if (!is_unanswered(r)) poll(awaited);
  });
}

void name_watch::poll(lock& l) {
  l.is_polled = true;
  look_later();
}

void name_watch::look_later() {
  if (next_look_ != 0) return;
  next_look_ = time_.at(time_.now() + std::chrono::seconds{1}, [this] {
    next_look_ = 0;
    for (auto& [path, each] : locks_) {
      if (!std::exchange(each.is_polled, false)) continue;
      each.handler();
      if (nodes_.is_connected()) list(path);
    }
  });
}

}  // namespace holdfast::zookeeper
