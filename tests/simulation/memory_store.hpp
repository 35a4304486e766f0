// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/request_link.hpp"
#include "simulation/simulated_store.hpp"
#include "stores/memory/link/table.hpp"

namespace holdfast::sim {

/// The table of link/memory, as if it were far away: the same rules as the SQL text, and many more worlds in
/// a second.
class memory_store final : public simulated_store, private counter {
 public:
  void begin(scene& in, site& at, ledger& account) override;
  std::unique_ptr<tickets::link> connect(host& from, line& over, duration reply_limit) override;
  void notify_all(const store::notification& n) override { counter::notify_all(n); }
  void heal() override { careless = false; }
  std::vector<standing> claims() override;
  void restart() override { end_process(); }
  void remember() override { former_ = table_; }
  void fall_back() override { table_ = former_; }
  void forget() override { table_ = {}; }

 private:
  outcome carry_out(const tickets::request& request, const owner_id& client,
                    std::vector<store::client_notification>& into) override;

  memory::table table_;
  memory::table former_;
};

}  // namespace holdfast::sim
