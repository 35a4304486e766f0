// SPDX-License-Identifier: Apache-2.0
#include "holdfast/recursive_mutex.hpp"

#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace holdfast {

bool recursive_mutex::lock_counted(std::optional<duration> limit, std::stop_token stop) {
  handle_.require_open();  // before the guard is touched, which a child may have inherited locked
  const auto self = std::this_thread::get_id();
  {
    const std::lock_guard hold{guard_};
    if (owner_ == self && handle_.held()) {
      ++depth_;
      return true;
    }
  }
  if (!handle_.lock({mode::exclusive, 1, limit, std::move(stop)})) return false;
  const std::lock_guard hold{guard_};
  owner_ = self;
  depth_ = 1;
  return true;
}

void recursive_mutex::unlock() noexcept {
  if (handle_.is_inherited()) return;
  {
    const std::lock_guard hold{guard_};
    if (owner_ != std::this_thread::get_id() || --depth_ > 0) return;
    owner_ = {};
  }
  handle_.unlock(mode::exclusive);
}

}  // namespace holdfast
