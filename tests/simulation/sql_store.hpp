// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulation/mutant.hpp"
#include "simulation/request_link.hpp"
#include "simulation/simulated_store.hpp"
#include "simulation/sql_tables.hpp"

namespace holdfast::sim {

/// A server with the tables of protocol/sql. In half of the worlds it forgets names that were idle for a
/// moment.
class sql_store final : public simulated_store, private counter {
 public:
  explicit sql_store(mutant with);

  void begin(scene& in, site& at, ledger& account) override;
  std::unique_ptr<tickets::link> connect(host& from, line& over, duration reply_limit) override;
  void notify_all(const store::notification& n) override { counter::notify_all(n); }
  void heal() override;
  [[nodiscard]] bool is_a_server() const override { return true; }
  [[nodiscard]] bool has_transactions() const override { return true; }
  void refuse_until(instant when) override { faults_.refuse_until(when); }
  void contend_until(instant when) override { faults_.contend_until(when); }
  void break_off_until(instant when) override { faults_.break_off_until(when); }
  /// It is CLOCK_BOOTTIME. (By a clock that could, a waiter that had died and was passed over would live
  /// again among the holders, as long as its row is there.)
  [[nodiscard]] bool clock_goes_back() const override { return false; }
  std::vector<standing> claims() override { return tables_->claims(); }
  void restart() override { end_process(); }
  void remember() override { tables_->remember(); }
  void fall_back() override { tables_->fall_back(); }
  void forget() override { tables_->forget(); }
  std::string damage() override { return tables_->is_whole() ? "" : "another's table was touched"; }

 private:
  outcome carry_out(const tickets::request& request, const owner_id& client,
                    std::vector<store::client_notification>& into) override;
  void carry_out_in_vain(const tickets::request& request, const owner_id& client) override;

  /// How far from the server's clock the time is that decides on a client's requests.
  [[nodiscard]] duration astray(const owner_id& client) const;

  mutant with_;
  transaction_faults faults_;
  std::unordered_map<owner_id, const host*> hosts_;
  std::int64_t first_wall_us_ = 0;
  duration astray_{};
  std::deque<sql_tables> all_;  // that remember names for a long time, and for less
  sql_tables* tables_;          // of this world
};

}  // namespace holdfast::sim
