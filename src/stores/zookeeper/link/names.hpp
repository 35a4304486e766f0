#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "stores/zookeeper/link/settings.hpp"

namespace holdfast::zookeeper {

/// The servers by their addresses, as the client library takes them.
struct addresses {
  std::string list;
  std::size_t count = 0;
};

/// A look for the addresses behind names, which may block for long, and cannot be stopped: it goes on by
/// itself where nobody waits for it any more.
class name_lookup {
 public:
  [[nodiscard]] static std::shared_ptr<name_lookup> begin(const std::vector<settings::server>& servers);

  using outcome = std::variant<addresses, failure>;
  /// Waits until it is known, for at most `limit`, or `cancel`. Names that cannot be found are left out.
  [[nodiscard]] outcome wait(std::chrono::milliseconds limit);
  /// Any thread.
  void cancel();

 private:
  static outcome ask(const std::vector<settings::server>& servers, int flags);

  annotated::mutex mutex_;
  annotated::condition_variable changed_;
  std::optional<outcome> outcome_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::zookeeper
