#include "stores/zookeeper/protocol/reaper.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

void reaper::remove(const std::string& path) {
  pending_.insert(path);
  nodes_.submit({.kind = operation_kind::remove, .path = path}, [this, path](const result& r) {
    if (is_error(r)) return;
    pending_.erase(path);
    on_removed_(path);
  });
}

void reaper::search(const orphan& lost, const on_searched& handler) {
  // A `sync` is not enough: a deposed leader that does not know it yet answers a `sync` by itself.
  std::vector<operation> steps{{.kind = operation_kind::agree, .path = "/"},
                               {.kind = operation_kind::list, .path = lost.queue}};
  if (!lost.leases.empty()) steps.push_back({.kind = operation_kind::list, .path = lost.leases});
  nodes_.submit_all(std::move(steps),
                    [this, lost, handler, session = nodes_.session()](const std::vector<result>& results) {
                      const auto failed = std::find_if(results.begin() + 1, results.end(), is_error);
                      if (!is_agreed(results[0]) || failed != results.end()) {
                        if (session == nodes_.session() || session == 0) orphans_.push_back(lost);
                        return handler(request_error_of(is_agreed(results[0]) ? *failed : results[0]));
                      }
                      for (const result& r : results) {
                        for (const contender& each : made_with(style_, lost.guid, r.children)) {
                          remove(r.path + '/' + each.node);
                        }
                      }
                      handler(std::nullopt);
                    });
}

void reaper::resume_removals() {
  for (const std::string& path : std::set<std::string>{pending_}) remove(path);
}

void reaper::resume_searches() {
  for (const orphan& each : std::exchange(orphans_, {})) {
    search(each, [](const std::optional<store::request_error>&) {});
  }
}

void reaper::expired() {
  pending_.clear();
  orphans_.clear();
}

}  // namespace holdfast::zookeeper
