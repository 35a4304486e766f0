// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "routines/routine_caller.hpp"
#include "stores/postgresql/link/dial.hpp"
#include "support/postgresql_server.hpp"

namespace holdfast::test {

/// How a client of the user "holdfast" gets into the server that a test has started.
[[nodiscard]] postgresql::settings settings_for(const postgresql_server& server);

class postgresql_caller final : public routine_caller {
 public:
  /// \param server must outlive this.
  explicit postgresql_caller(postgresql_server& server) : postgresql_caller{server, settings_for(server)} {}
  postgresql_caller(postgresql_server& server, postgresql::settings settings);

  [[nodiscard]] bool joins() const override { return true; }

 private:
  [[nodiscard]] std::unique_ptr<sql::connection> dial(const owner_id& client, int stop) const override;
  [[nodiscard]] std::vector<store::notification> notifications_for(sql::connection& wire) override;
  /// By another `now` beside the other routines.
  void replace_clock() override;

  postgresql_server& server_;
  postgresql::settings settings_;
};

}  // namespace holdfast::test
