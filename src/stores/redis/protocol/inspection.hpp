#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "core/request.hpp"
#include "holdfast/state.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// What is read of a name, a part at a time: see lua/inspect.lua.
class inspection final : public tickets::listing_state {
 public:
  /// \param most_waiters the first ones; all holders are read.
  explicit inspection(std::size_t most_waiters);

  static constexpr std::size_t argument_count = 6;
  void append_arguments(std::string& out) const;
  /// The arguments that read one holder, and one waiter.
  static void append_arguments_of_summary(std::string& out);

  /// Takes a part. \return whether it was the last. \throws misunderstood.
  [[nodiscard]] bool hear(const std::string& name, const value& reply);
  /// All that was read; empty for a name that the server does not know.
  [[nodiscard]] std::optional<lock_state> take() { return std::move(state_); }

 private:
  std::size_t waiters_wanted_;
  claim_cursor next_holder_;
  claim_cursor next_waiter_;
  std::optional<std::chrono::milliseconds> begun_at_;  // by the server's clock; empty: no part is read
  std::optional<lock_state> state_;
};

}  // namespace holdfast::redis
