#pragma once

#include <exception>
#include <utility>

namespace holdfast {

/// Ends what the action throws: it concerns no caller that happens to run the action for another.
template <class Action>
void contain_exceptions(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const std::exception&) {
    // A handler has thrown, or the system is out of threads or memory.
  }
}

/// Runs actions that all have to run, also where one of them throws.
class first_exception {
 public:
  template <class Action>
  void run(Action&& action) noexcept {
    try {
      std::forward<Action>(action)();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  /// \throws what the first of the actions threw.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

}  // namespace holdfast
