#pragma once

#include <atomic>
#include <fmt/core.h>
#include <memory>
#include <mutex>
#include <utility>

#include "failure.hpp"
#include <holdfast/detail/handle.hpp>

namespace holdfast::cli {

/// A completion from a function of (code, lease).
template <class Action>
class action_completion : public detail::completion {
 public:
  explicit action_completion(Action action) : action_{std::move(action)} {}
  void complete(detail::outcome ended) noexcept override { action_(ended.code, std::move(ended.granted)); }

 private:
  Action action_;
};

template <class Action>
[[nodiscard]] std::unique_ptr<detail::completion> on_completion(Action action) {
  return std::make_unique<action_completion<Action>>(std::move(action));
}

/// Keeps the first error of many operations in flight, for the thread that waits for them.
class first_problem {
 public:
  void note(std::error_code code) noexcept {
    const std::scoped_lock hold{guard_};
    if (!first_) first_ = code;
    any_ = true;
  }
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// Throws if there was one.
  void check(const std::string& store) {
    const std::scoped_lock hold{guard_};
    if (first_) throw failure{status_of(first_), fmt::format("{}: {}", store, first_.message())};
  }

 private:
  std::mutex guard_;
  std::error_code first_;
  std::atomic<bool> any_ = false;
};

}  // namespace holdfast::cli
