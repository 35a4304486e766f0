#pragma once

#include <memory>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "runtime/connection_reader.hpp"
#include "stores/redis/link/node.hpp"

namespace holdfast::redis {

/// The servers of a link to which requests were pushed that nobody has written to the socket yet. Any thread.
/// For `help`, `drive` and `kick` see tickets::link.
class unflushed_nodes {
 public:
  using node_ptr = std::shared_ptr<node>;

  void add(const node_ptr& server);
  /// Writes the requests of a caller that waits, and reads for it.
  void help(store::caller& caller, runtime::connection_reader& reader);
  void drive();
  void kick();

 private:
  [[nodiscard]] std::vector<node_ptr> take();

  annotated::mutex mutex_;
  std::vector<node_ptr> nodes_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis
