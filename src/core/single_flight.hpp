// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace holdfast::store {

/// At most one request is under way, and at most one more follows it, however many reasons for one come
/// meanwhile: its answer may be older than they are.
class single_flight {
 public:
  /// There is a reason for a request.
  /// \return whether to send one now. If not, one is under way, and another one follows.
  [[nodiscard]] bool start() noexcept {
    return std::exchange(state_, state_ == state::idle ? state::one : state::one_more) == state::idle;
  }
  /// The request has its answer.
  /// \return whether there was another reason meanwhile: `start` again.
  [[nodiscard]] bool finish() noexcept { return std::exchange(state_, state::idle) == state::one_more; }
  [[nodiscard]] bool is_in_flight() const noexcept { return state_ != state::idle; }

 private:
  enum class state : std::uint8_t { idle, one, one_more };
  state state_ = state::idle;
};

}  // namespace holdfast::store
