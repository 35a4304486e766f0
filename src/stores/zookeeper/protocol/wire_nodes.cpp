#include "stores/zookeeper/protocol/wire_nodes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "stores/zookeeper/protocol/note.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

namespace {
/// Some 60 kB of names.
constexpr std::size_t crowd = 1000;
}  // namespace

void wire_nodes::connected(std::int64_t session) {
  session_ = session;
  connected_ = true;
}

void wire_nodes::expired() {
  connected_ = false;
  session_ = 0;
  watches_.clear();
  watched_bytes_ = 0;
  crowded_.clear();
  unreadable_.clear();
  unwanted_.clear();
}

void wire_nodes::happened(const std::string& path, change event) {
  if (event != change::children) forget_watch({path, watch_kind::node});
  if (event != change::data && event != change::created) forget_watch({path, watch_kind::children});
  if (event == change::removed) crowded_.erase(path);
  unreadable_.erase(path);
}

void wire_nodes::forget_watch(const watch& w) {
  if (watches_.erase(w) != 0) watched_bytes_ -= size_of(w.first);
}

void wire_nodes::submit(operation step, on_result handler) {
  if (step.kind != operation_kind::remove) return wire_.submit(std::move(step), std::move(handler));
  wire_.submit(std::move(step), [this, handler = std::move(handler)](result r) {
    --removals_;
    handler(std::move(r));
    if (removals_ == 0 && removed_) std::exchange(removed_, nullptr)();
  });
  ++removals_;
}

void wire_nodes::when_removed(std::function<void()> action) {
  if (removals_ == 0) return action();
  removed_ = std::move(action);
}

void wire_nodes::submit_all(std::vector<operation> steps, on_results handler) {
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

void wire_nodes::make_parents(const std::string& path, on_made handler) {
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

operation wire_nodes::look_at(const std::string& path, bool watch) const {
  if (unreadable_.contains(path)) return {.kind = operation_kind::exists, .path = path};
  return {.kind = operation_kind::get, .path = path, .watch = watch};
}

bool wire_nodes::can_watch(const std::vector<std::string>& own, std::size_t& planned_bytes) const {
  std::size_t together = planned_bytes;
  for (const std::string& path : own) {
    if (!is_readable(path)) return false;
    together += size_of(path);
  }
  if (watched_bytes_ + together > most_watched_with_own) return false;
  planned_bytes = together;
  return true;
}

void wire_nodes::end_watch(const std::string& path, watch_kind kind) {
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

std::map<std::string, watch_kind> wire_nodes::take_unwanted_watches() { return std::exchange(unwanted_, {}); }

}  // namespace holdfast::zookeeper
