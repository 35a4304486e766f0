// SPDX-License-Identifier: Apache-2.0
// Calls of a session that somebody kills at the server.

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "routines/mariadb/procedure_fixture.hpp"
#include "runtime/password.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/mariadb/link/dial.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 60s;

/// Whoever sends may be the one who finds the session broken, while another waits for its answers.
TEST(killed_calls, are_never_answered) {
  procedure_fixture at;
  mariadb::settings to;
  to.socket = procedure_fixture::server().socket();
  to.user = to.database = to.schema = "holdfast";
  to.password = runtime::password{"secret"};
  to.table = at.table();
  const runtime::wakeup_fd never;
  const auto client = owner_id::random();
  const auto wire = mariadb::dial(to, client, std::nullopt, mariadb::role::calls, sql::provision::tables,
                                  never.descriptor());
  const auto sessions = [&] {
    return at.ask("SELECT id FROM information_schema.processlist WHERE id = IS_USED_LOCK('" +
                  sql::mariadb::lock_of(client, false) + "')");
  };
  at.ask("KILL HARD CONNECTION " + sessions().at(0).at(0));
  const auto deadline = std::chrono::steady_clock::now() + wait_limit;
  while (!sessions().empty()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);

  const auto look = [&] {
    pollfd socket{wire->descriptor(), wire->events(), 0};
    ASSERT_EQ(::poll(&socket, 1, 60'000), 1);
    EXPECT_THAT(wire->proceed(), testing::IsEmpty());
  };
  const auto ask = [&] {
    wire->send({"find", {sql::parameter::of_text("stock"), sql::parameter::of_bytes(client.bytes())}});
    while (true) look();
  };
  EXPECT_THROW(ask(), runtime::connection_error);
  EXPECT_THROW(static_cast<void>(wire->proceed()), runtime::connection_error);
}

}  // namespace
}  // namespace holdfast::test
