#pragma once

#include <cstdint>

namespace holdfast::store {

/// At most one request is in flight, and one more after it: what it is to say may have changed since it was
/// sent.
class single_flight {
 public:
  /// \return whether the request is to be sent now. False: one is in flight, and one more is noted.
  bool start() {
    const bool is_first = state_ == state::idle;
    state_ = is_first ? state::in_flight : state::noted;
    return is_first;
  }
  /// The request has ended. \return whether one more was noted: then it is to be started.
  bool finish() {
    const bool is_noted = state_ == state::noted;
    state_ = state::idle;
    return is_noted;
  }
  [[nodiscard]] bool is_in_flight() const { return state_ != state::idle; }

 private:
  enum class state : std::uint8_t { idle, in_flight, noted };
  state state_ = state::idle;
};

}  // namespace holdfast::store
