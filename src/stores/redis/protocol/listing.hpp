// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/request.hpp"
#include "holdfast/state.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"

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

/// The listing of a server's locks: a scan of its keys, and then a summary of each name that it finds.
struct listing final : tickets::listing_state {
  std::string cursor = "0";
  bool scanned = false;         // all of the database
  std::set<std::string> found;  // locks' keys that are not read yet
  std::vector<lock_summary> summaries;
  std::set<std::string> moved;  // locks' keys that another server of the cluster has by now
  bool follows = false;         // of one name: the link asks the server that has it

  /// Appends the command for the next part of the scan.
  void append_scan(std::string& out, const dialect& in) const;
  /// \return whether the scan goes on. \throws misunderstood.
  bool hear_scan(const value& reply, const dialect& in);

  /// Appends the commands for the next names. \return how many.
  [[nodiscard]] std::size_t append_details(std::string& out) const;
  /// \param idle names as well that nobody holds or waits for.
  /// \return why not all were read: those that were not are read by the next commands.
  [[nodiscard]] std::optional<store::request_error> hear_details(const std::vector<value>& replies,
                                                                 const dialect& in, bool idle);
};

}  // namespace holdfast::redis
