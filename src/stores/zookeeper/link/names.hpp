// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "stores/zookeeper/link/settings.hpp"

namespace holdfast::zookeeper {

/// Each in the format of the client library: "127.0.0.1:2181", or an IPv6 address and a port behind its last
/// colon.
using addresses = std::vector<std::string>;

/// A look-up of the addresses of names. It may block for long and cannot be stopped, so it goes on by itself
/// when no thread waits for it any more.
class name_lookup {
 public:
  [[nodiscard]] static std::shared_ptr<name_lookup> begin(const std::vector<settings::server>& servers);

  using outcome = std::variant<addresses, failure>;
  /// Waits for the result, for at most `limit`, or until `cancel`. Names that cannot be found are left out.
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
