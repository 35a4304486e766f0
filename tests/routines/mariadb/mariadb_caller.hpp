// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "routines/routine_caller.hpp"
#include "stores/mariadb/link/dial.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::test {

class mariadb_caller final : public routine_caller {
 public:
  /// \param server must outlive this.
  explicit mariadb_caller(mariadb_server& server);

  [[nodiscard]] bool joins() const override { return true; }

 private:
  [[nodiscard]] std::unique_ptr<sql::connection> dial(const owner_id& client, int stop) const override;
  [[nodiscard]] std::vector<store::notification> notifications_for(sql::connection& wire) override;
  /// By a variable of the session in place of the clock.
  void replace_clock() override;

  mariadb_server& server_;
  mariadb::settings settings_;
  std::map<owner_id, std::string>
      seen_;  // the notifications that each client has taken, as `listen` takes them
};

}  // namespace holdfast::test
