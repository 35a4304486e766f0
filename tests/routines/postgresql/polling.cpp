// SPDX-License-Identifier: Apache-2.0
// What the routine for clients that poll answers.

#include <gmock/gmock.h>

#include "routines/postgresql/postgresql_caller.hpp"
#include "routines/tasks.hpp"
#include "stores/postgresql/protocol/schema.hpp"
#include "stores/sql/protocol/notification.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class postgresql_polling : public testing::Test {
 protected:
  /// \return its place.
  std::int64_t acquire(std::uint8_t owner, std::optional<duration> session = std::nullopt,
                       std::uint8_t client = 9) {
    test::request_form claim;
    claim.kind = test::task::acquire;
    claim.name = "stock";
    claim.owner = test::id(owner);
    claim.wait = true;
    claim.ttl = 1h;
    const auto rows =
        test::rows_of(real.call(sql::call_of(claim.request(), test::id(client), session), test::id(client)));
    return sql::number_at(rows.at(0), 1);
  }
  void end(std::uint8_t owner, std::int64_t token) {
    test::request_form claim;
    claim.kind = test::task::release;
    claim.name = "stock";
    claim.owner = test::id(owner);
    claim.token = fencing_token{static_cast<std::uint64_t>(token)};
    test::rows_of(real.call(sql::call_of(claim.request(), test::id(9)), test::id(9)));
  }
  void annotate(std::uint8_t owner, std::int64_t token, const std::string& metadata) {
    test::request_form claim;
    claim.kind = test::task::annotate;
    claim.name = "stock";
    claim.owner = test::id(owner);
    claim.token = fencing_token{static_cast<std::uint64_t>(token)};
    claim.metadata = std::make_shared<const std::string>(metadata);
    test::rows_of(real.call(sql::call_of(claim.request(), test::id(9)), test::id(9)));
  }
  /// Owner and token, of the client 9.
  using said = std::pair<std::uint8_t, std::int64_t>;
  std::vector<said> poll(std::int64_t token, bool is_held = false) {
    const sql::poll_question question{test::id(9), {{"stock", token}, {"unknown", 1}}, is_held, {}};
    std::vector<said> all;
    const std::vector<sql::row> rows =
        test::rows_of(real.call(sql::postgresql::poll_of(question), test::id(8)));
    for (const auto& r : rows) {
      const auto owner = owner_id::from_bytes(sql::text_at(r, 0));
      for (std::uint8_t n = 1; n < 10; ++n) {
        if (owner == test::id(n)) all.emplace_back(n, sql::number_at(r, 1));
      }
    }
    return all;
  }

  /// Each client's session may have claims that end with it.
  static postgresql::settings in_sessions(const test::postgresql_server& server) {
    auto s = test::settings_for(server);
    s.link.session = 30s;
    return s;
  }

  test::postgresql_server server;
  test::postgresql_caller real{server, in_sessions(server)};
};

TEST_F(postgresql_polling, tells_the_clients_grants_and_no_others) {
  const auto held = acquire(1, std::nullopt, 7);
  const auto first = acquire(2);
  const auto other = acquire(3, std::nullopt, 7);
  const auto last = acquire(4);
  EXPECT_THAT(poll(first), IsEmpty());
  end(1, held);
  EXPECT_THAT(poll(first), ElementsAre(said{2, first}));
  end(2, first);
  EXPECT_THAT(poll(last), IsEmpty()) << "another client's turn";
  end(3, other);
  EXPECT_THAT(poll(last), ElementsAre(said{4, last}));
}

TEST_F(postgresql_polling, tells_the_first_behind_a_claim_that_ends_with_its_session) {
  acquire(1, 30s, 7);
  const auto first = acquire(2);
  EXPECT_THAT(poll(first), ElementsAre(said{2, 0}));
  const auto next = acquire(3);
  EXPECT_THAT(poll(next), IsEmpty());
}

TEST_F(postgresql_polling, tells_whose_holder_is_asked_to_release) {
  const auto held = acquire(1);
  server.ask("UPDATE holdfast_locks_claims SET metadata = '{\"a\":1}'");
  EXPECT_THAT(poll(held, true), IsEmpty());
  server.ask("SELECT holdfast_locks_request_release('stock', 0, 9223372036854775807, 'r')");
  EXPECT_THAT(poll(held, true), ElementsAre(said{1, sql::release_requested}));
}

TEST_F(postgresql_polling, tells_it_after_a_leader_has_replaced_its_value) {
  const auto held = acquire(1);
  server.ask("UPDATE holdfast_locks_claims SET metadata = '{\"a\":1}'");
  server.ask("SELECT holdfast_locks_request_release('stock', 0, 9223372036854775807, 'r')");
  annotate(1, held, R"({"a":2})");
  EXPECT_EQ(server.ask("SELECT metadata FROM holdfast_locks_claims"), R"({"a":2,"release_request":"r"})");
  EXPECT_THAT(poll(held, true), ElementsAre(said{1, sql::release_requested}));
  annotate(1, held, R"({"a":3})");
  EXPECT_EQ(server.ask("SELECT metadata FROM holdfast_locks_claims"), R"({"a":3,"release_request":"r"})");
}

// As on a standby, to which a pooler may lead after the client has connected.
TEST_F(postgresql_polling, settles_nothing_where_nothing_could_be_written) {
  acquire(1);  // the routines are there
  const auto other = server.console();
  EXPECT_EQ(other->ask("BEGIN READ ONLY"), "");
  EXPECT_THAT(other->ask("SELECT holdfast_locks_settle()"), testing::HasSubstr("read-only"));
}

}  // namespace
}  // namespace holdfast
