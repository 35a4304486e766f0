#pragma once

#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

/// The way to the servers. All calls are made, and all answers given, under the client's core lock.
class wire {
 public:
  using on_result = zookeeper::on_result;

  wire() = default;
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  virtual ~wire() = default;

  /// Never answers within the call; answers always, and in order. Carried out in the session that there is
  /// now, or the next if there is none yet, and in no other.
  virtual void submit(operation step, on_result done) = 0;
};

}  // namespace holdfast::zookeeper
