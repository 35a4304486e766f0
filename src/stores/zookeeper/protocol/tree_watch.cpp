#include "stores/zookeeper/protocol/tree_watch.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

tree_watch::tree_watch(store::scheduler& time, ordered_nodes& nodes, std::string root,
                       std::function<bool(const std::string&)> is_needed)
    : time_{time}, nodes_{nodes}, root_{std::move(root)}, is_needed_{std::move(is_needed)} {}

tree_watch::~tree_watch() { time_.cancel(next_look_); }

void tree_watch::watch(std::function<void()> handler) {
  handler_ = std::move(handler);
  if (handler_) {
    if (nodes_.is_connected()) watch_below(top());
    return;
  }
  time_.cancel(std::exchange(next_look_, 0));
  for (const std::string& path : std::exchange(watched_, {})) {
    if (!is_needed_(path)) nodes_.end_watch(path, watch_kind::children);
  }
}

void tree_watch::connected() {
  if (!handler_) return;
  watched_.clear();
  watch_below(top());
}

void tree_watch::happened(const std::string& path, change event) {
  const bool is_root_gone = event == change::removed && watched_.erase(path) != 0 && path == root_;
  const bool has_other_children = event == change::children && watched_.erase(path) != 0;
  if (is_root_gone || has_other_children) watch_below(path);
}

/// Calls the handler after a second, for nodes without room for a watch.
void tree_watch::look_later() {
  if (next_look_ != 0) return;
  next_look_ = time_.at(time_.now() + std::chrono::seconds{1}, [this] {
    next_look_ = 0;
    if (!handler_) return;
    look_later();
    handler_();
  });
}

void tree_watch::watch_below(const std::string& path) {
  if (!handler_) return;
  if (!nodes_.has_room(path, watch_kind::children)) return look_later();
  if (!watched_.insert(path).second) return;
  std::vector<operation> steps{{.kind = operation_kind::list, .path = path, .watch = true}};
  nodes_.submit_all(std::move(steps), [this, path](const std::vector<result>& results) {
    const result& r = results[0];
    if (r.code != answer::done) {
      watched_.erase(path);
      if (r.code != answer::no_node || path != root_) return;
      // No lock was ever used. A missing node cannot be watched.
      nodes_.make_parents(path, [this, path](const std::optional<store::request_error>& failed) {
        if (!failed) watch_below(path);
      });
      return;
    }
    for (const std::string& child : r.children) {
      const std::string below = (path == "/" ? "" : path) + '/' + child;
      if (!looks_like_contender(child) && below != "/zookeeper") watch_below(below);
    }
    if (handler_) handler_();
  });
}

}  // namespace holdfast::zookeeper
