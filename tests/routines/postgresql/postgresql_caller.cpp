// SPDX-License-Identifier: Apache-2.0
#include "routines/postgresql/postgresql_caller.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace holdfast::test {

postgresql::settings settings_for(const postgresql_server& server) {
  postgresql::settings s;
  s.connection = {{"host", server.socket_folder()},
                  {"port", std::to_string(server.port())},
                  {"user", "holdfast"},
                  {"dbname", "holdfast"}};
  s.link.connect_limit = routine_caller::wait_limit;
  return s;
}

postgresql_caller::postgresql_caller(postgresql_server& server, postgresql::settings settings)
    : server_{server}, settings_{std::move(settings)} {}

std::unique_ptr<sql::connection> postgresql_caller::dial(const owner_id& client, int stop) const {
  return postgresql::dial(settings_, client, std::nullopt, sql::provision::tables, stop);
}

/// What was told by a call that has been answered comes before the answer to the next, on every connection.
std::vector<store::notification> postgresql_caller::notifications_for(sql::connection& wire) {
  rows_of(carry_out(wire, {"layout", {}}));
  return wire.take_notifications();
}

void postgresql_caller::replace_clock() {
  const std::string said = server_.console("holdfast")->ask(settings_.names.fill(R"sql(
    CREATE OR REPLACE FUNCTION {now}() RETURNS bigint LANGUAGE sql VOLATILE AS $$
      SELECT current_setting('holdfast_test.now')::bigint $$;
    CREATE FUNCTION {set_now}(us bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
      SELECT set_config('holdfast_test.now', us::text, false)::bigint $$)sql"));
  if (said.starts_with('-')) throw std::runtime_error{said};
}

}  // namespace holdfast::test
