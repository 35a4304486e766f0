#pragma once

#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

/// The connection to the servers. All calls and all answers happen under the client's core lock.
class wire {
 public:
  using on_result = zookeeper::on_result;

  wire() = default;
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  virtual ~wire() = default;

  /// Never answers within the call; answers always, and in order. The step is carried out in the current
  /// session, or in the next one if there is none yet, and in no other.
  virtual void submit(operation step, on_result done) = 0;
};

}  // namespace holdfast::zookeeper
