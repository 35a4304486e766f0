// SPDX-License-Identifier: Apache-2.0
// The server's wall clock, by which claims expire, is set under those who hold.

#include "faults/servers/servers.hpp"

namespace holdfast::faults {
namespace {

template <class Server>
class by_its_clock : public on_each<Server> {
 protected:
  explicit by_its_clock(const std::string& options = {})
      : on_each<Server>{{.own_clock = true}}, one_{this->url(options)}, two_{this->url(options)} {}

  client one_;
  client two_;
};

class server_clocks : public by_its_clock<server> {};

TEST_P(server_clocks, set_back_or_forward_leave_tokens_rising) {
  mutex lock{one_, "stock"};
  fencing_token last;
  for (const auto ahead : {0h, -48h, 48h, 47h, -87'600h, 0h}) {
    server_->set_clock(ahead);
    for (int turn = 0; turn < 3; ++turn) {
      auto held = lock.acquire();
      EXPECT_GT(held.token(), last) << ahead.count();
      last = held.token();
      EXPECT_FALSE(held.release());
    }
  }
}

TEST_P(server_clocks, set_by_less_than_the_ttl_let_nobody_in) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(60s)}.acquire();
  for (const auto ahead : {-3600s, -30s, 0s, 30s}) {
    server_->set_clock(ahead);
    EXPECT_FALSE(mutex(two_, "stock").try_lock()) << ahead.count();
  }
  EXPECT_TRUE(held.held());
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
}

TEST_P(server_clocks, set_forward_by_more_end_the_lease_and_say_so) {
  auto held = mutex{one_, "stock", lock_options{}.ttl(900ms)}.acquire();
  loss loss_signal{held};
  server_->set_clock(1h);
  const auto next = mutex{two_, "stock"}.acquire();
  EXPECT_GT(next.token(), held.token());
  loss_signal.expect_told();
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_TRUE(next.held());
}

HOLDFAST_ON_EACH_SERVER(server_clocks, server_kinds, [](const server_kind& kind) { return kind.has_clock; });

class database_clocks : public by_its_clock<database> {
 protected:
  database_clocks() : by_its_clock{"?keep_idle=1h"} {}
};

// What docs/guarantees.md admits: two hold, until the first of them asks the server. Only the token tells
// them apart.
TEST_P(database_clocks, set_forward_by_more_let_two_in_whom_tokens_tell_apart) {
  server_->execute("CREATE TABLE goods (fence BIGINT)");
  server_->execute("INSERT INTO goods VALUES (0)");
  const auto is_written = [&](const lease& by) {
    const auto token = std::to_string(by.token().value());
    server_->execute("UPDATE goods SET fence = " + token + " WHERE fence <= " + token);
    return server_->number("SELECT count(*) FROM goods WHERE fence = " + token) == 1;
  };
  auto first = mutex{one_, "stock", lock_options{}.ttl(60s).renewal(false)}.acquire();
  EXPECT_TRUE(is_written(first));
  server_->set_clock(1h);
  auto second = mutex{two_, "stock"}.acquire();
  EXPECT_TRUE(first.held());
  EXPECT_TRUE(second.held());
  EXPECT_TRUE(is_written(second));
  EXPECT_FALSE(is_written(first)) << "a resource that checks tokens has accepted a stale one";
  EXPECT_EQ(first.renew(), renewal::lost);
  EXPECT_FALSE(first.held());
  EXPECT_EQ(second.renew(), renewal::renewed);
}

TEST_P(database_clocks, set_back_keep_the_dead_for_longer_and_no_two_in) {
  const auto dead = start(url());
  EXPECT_TRUE(mutex(two_, "other", patient()).try_lock_for(60s)) << "it is connected";
  const auto first = dead->hold("stock ttl=4000 fixed");
  server_->set_clock(-4s);
  dead->kill();
  EXPECT_FALSE(mutex(two_, "stock").try_lock());
  EXPECT_GT(mutex(two_, "stock").acquire().token(), first);
}

TEST_P(database_clocks, past_the_time_that_idle_names_are_kept_have_them_swept_and_tokens_rising) {
  std::vector<fencing_token> last;
  constexpr int names = 300;  // more than one sweep takes
  for (int each = 0; each < names; ++each) {
    auto held = mutex{one_, "stock/" + std::to_string(each)}.acquire();
    last.push_back(held.token());
    EXPECT_FALSE(held.release());
  }
  const auto rows = [&] { return server_->number("SELECT count(*) FROM holdfast_locks"); };
  EXPECT_EQ(rows(), names);
  // A sweep that is under way has been past some of them, and does not come back.
  await(
      [&] {
        EXPECT_FALSE(mutex(one_, "stock/0").acquire().release());
        return server_->number("SELECT swept FROM holdfast_locks_sweeps") > 0;
      },
      "the first sweep has no end");
  server_->set_clock(3h);
  auto busy = mutex{one_, "busy"}.acquire();
  client late{url("?keep_idle=1h")};  // its first call sweeps, and its next ones while there is more
  await(
      [&] {
        EXPECT_FALSE(mutex(late, "passing").acquire().release());
        return rows() <= 2;
      },
      "idle names are not forgotten");
  EXPECT_EQ(busy.renew(), renewal::renewed) << "what is in use is not idle";
  for (int each = 0; each < names; each += 37) {
    EXPECT_GT(mutex(one_, "stock/" + std::to_string(each)).acquire().token(),
              last[static_cast<std::size_t>(each)]);
  }
}

HOLDFAST_ON_EACH_SERVER(database_clocks, database_kinds, any_kind<database>);

}  // namespace
}  // namespace holdfast::faults
