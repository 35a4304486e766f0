// SPDX-License-Identifier: Apache-2.0
#include "routines/mariadb/mariadb_caller.hpp"

#include <optional>
#include <stdexcept>
#include <string_view>

#include "runtime/password.hpp"
#include "stores/mariadb/protocol/schema.hpp"
#include "stores/sql/protocol/notification.hpp"

namespace holdfast::test {

namespace {

/// \return how often `what` stood there.
int replace_all(std::string& text, std::string_view from, std::string_view with) {
  int count = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + with.size())) {
    text.replace(at, from.size(), with);
    ++count;
  }
  return count;
}

}  // namespace

mariadb_caller::mariadb_caller(mariadb_server& server) : server_{server} {
  settings_.socket = server.socket();
  settings_.user = settings_.database = settings_.schema = "holdfast";
  settings_.password = runtime::password{"secret"};
  settings_.link.connect_limit = wait_limit;
}

std::unique_ptr<sql::connection> mariadb_caller::dial(const owner_id& client, int stop) const {
  return mariadb::dial(settings_, client, std::nullopt, mariadb::role::calls, sql::provision::tables, stop);
}

std::vector<store::notification> mariadb_caller::notifications_for(sql::connection& wire) {
  std::string& seen = seen_[wire.client()];
  const sql::call listen{"listen",
                         {sql::parameter::of_bytes(wire.client().bytes()), sql::parameter::of_bytes(seen),
                          sql::parameter::of(std::int64_t{0})}};
  const auto received = carry_out(wire, listen);
  seen.clear();
  std::vector<store::notification> notifications;
  for (const sql::row& r : rows_of(received)) {
    const owner_id owner = owner_id::from_bytes(sql::text_at(r, 0)).value();
    const std::int64_t token = sql::number_at(r, 1);
    notifications.push_back(sql::notification_of(owner, token));
    seen += sql::mariadb::seen_notification(owner, token);
  }
  // Acknowledged at once: a word that was read and is still there hides another one like it, such as that of
  // a second request to release, and is deleted together with it.
  if (!seen.empty()) {
    const auto more = notifications_for(wire);
    notifications.insert(notifications.end(), more.begin(), more.end());
  }
  return notifications;
}

void mariadb_caller::replace_clock() {
  const sql::naming names = settings_.names();
  const auto console = server_.console({"holdfast", "secret", "holdfast"});
  for (const std::string& setting : sql::mariadb::session_settings()) console->ask(setting);
  int clocks = 0;
  for (std::string statement : sql::mariadb::schema_of(names)) {
    const int here = replace_all(statement, "UNIX_TIMESTAMP(SYSDATE(6)) * 1000000", "@holdfast_test_now");
    if (here == 0) continue;
    clocks += here;
    replace_all(statement, "CREATE PROCEDURE IF NOT EXISTS", "CREATE OR REPLACE PROCEDURE");
    console->ask(statement);
  }
  if (clocks == 0) throw std::runtime_error{"no procedure looks at the clock"};
  console->ask("CREATE PROCEDURE " + names.quoted("set_now") +
               "(us BIGINT) BEGIN SET @holdfast_test_now = us; SELECT us; END");
}

}  // namespace holdfast::test
