// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "failure.hpp"
#include <holdfast/detail/handle.hpp>

namespace holdfast::cli {

/// A completion from a function of (outcome).
template <class Action>
class action_completion : public detail::completion {
 public:
  explicit action_completion(Action action) : action_{std::move(action)} {}
  void complete(detail::outcome ended) noexcept override { action_(std::move(ended)); }

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
  /// \param detail what the library says of it; may be empty.
  void note(std::error_code code, std::string detail) noexcept {
    const std::scoped_lock hold{guard_};
    if (!first_) {
      first_ = code;
      detail_ = std::move(detail);
    }
    any_ = true;
  }
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// Throws if there was one.
  void check(const std::string& store) {
    const std::scoped_lock hold{guard_};
    if (!first_) return;
    throw failure{status_of(first_),
                  detail_.empty() ? fmt::format("{}: {}", store, first_.message()) : detail_};
  }

 private:
  std::mutex guard_;
  std::error_code first_;
  std::string detail_;
  std::atomic<bool> any_ = false;
};

}  // namespace holdfast::cli
