// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "core/scheduler.hpp"
#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// Finds out which server of a cluster has which slots: asks one server after another, until one answers. The
/// next one is asked when one fails, or takes long. All of it under the core lock.
class topology {
 public:
  /// \param reply null: the server has not answered, and `problem` says why.
  using on_answer = std::function<void(const value* reply, const store::request_error* problem)>;

  /// What it needs of the link.
  struct uses {
    std::function<std::vector<server_address>()> candidates;    // in the order in which to ask them
    std::function<void(const server_address&, on_answer)> ask;  // throws only where there will be no answer
    std::function<void(slot_map)> on_map;
    std::function<void(const store::request_error&)> on_failure;
  };

  topology(store::scheduler& on, uses of) : scheduler_{on}, uses_{std::move(of)} {}

  /// Asks, unless it asks already. Soon after the last time it waits a moment first.
  void refresh();
  void stop();
  /// Why nothing is known yet.
  [[nodiscard]] store::request_error problem() const;

 private:
  void begin();
  void ask_next();
  void hear(const server_address& from, const value* reply, const store::request_error* problem);
  void end();

  store::scheduler& scheduler_;
  const uses uses_;
  bool is_asking_ = false;
  std::uint64_t round_ = 0;  // answers of earlier rounds do not count
  std::vector<server_address> to_ask_;
  std::size_t answers_due_ = 0;
  std::vector<store::request_error> problems_;
  store::time_point not_before_{};
  store::scheduler::timer timer_ = 0;  // until the next is asked, or the next round begins
  bool is_due_ = false;                // the next round, when the timer fires
};

}  // namespace holdfast::redis
