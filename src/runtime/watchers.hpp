#pragma once

#include <functional>
#include <list>
#include <memory>

#include "runtime/event_loop.hpp"

namespace holdfast::runtime {

/// Those who want to hear of changes at a store. However often it rings, they are called once a burst: a
/// moment after the first ring, by when what caused it can be seen by readers.
class watchers {
 public:
  explicit watchers(event_loop& on) : shared_{std::make_shared<shared>(on)} {}

  /// Under the core lock. `changed` is called under the core lock until the returned object is destroyed, the
  /// first time soon.
  [[nodiscard]] std::shared_ptr<void> add(std::function<void()> changed);
  /// Any thread, without the core lock.
  void ring();
  [[nodiscard]] bool empty() const;

 private:
  struct shared {
    explicit shared(event_loop& on) : owner{on} {}
    event_loop& owner;
    std::list<std::function<void()>> actions;
    bool ringing = false;
  };
  static void ring_soon(const std::shared_ptr<shared>& s);

  std::shared_ptr<shared> shared_;
};

}  // namespace holdfast::runtime
