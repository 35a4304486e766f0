// SPDX-License-Identifier: Apache-2.0
// A dead claim is dead for every task, in the model and in the SQL text, whether or not its row is buried
// yet.

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>

#include "core/describe.hpp"
#include "core/samples.hpp"
#include "core/sqlite_comparison.hpp"

namespace holdfast {
namespace {

using namespace test;

class dead_claims : public testing::Test {
 protected:
  /// Asks both, who have to agree.
  tickets::reply ask(task kind, std::uint8_t owner, fencing_token token = {}) {
    request_form r;
    r.kind = kind;
    r.name = "stock";
    r.owner = id(owner);
    r.token = token;
    r.weight = store::full_capacity;
    r.capacity = store::full_capacity;
    r.ttl = 1s;
    r.wait = true;
    r.metadata = std::make_shared<const std::string>();
    auto [model, real] = stores_.carry_out(r, id(200));
    EXPECT_EQ(describe(model.reply), describe(real.reply));
    EXPECT_EQ(model.notifications.size(), real.notifications.size());
    notifications = real.notifications;
    return real.reply;
  }
  fencing_token place(std::uint8_t owner) {
    return std::get<tickets::place>(ask(task::acquire, owner)).token;
  }
  tickets::reply inspect(std::size_t most_waiters) {
    request_form r;
    r.kind = task::inspect;
    r.name = "stock";
    r.waiters_read = most_waiters;
    auto [model, real] = stores_.carry_out(r, id(200));
    EXPECT_EQ(describe(model.reply), describe(real.reply));
    return real.reply;
  }
  void pass(duration time) { stores_.pass(time); }
  /// The second owner's ticket expires; then the third one is let in past it.
  void pass_over_a_ticket() {
    const fencing_token holder = place(1);
    place(2);
    pass(900ms);
    ask(task::look, 1, holder);
    pass(200ms);
    ask(task::release, 1, holder);
    ASSERT_TRUE(std::get<tickets::place>(ask(task::acquire, 3)).granted);
  }

  std::vector<store::client_notification> notifications;

 private:
  sqlite_comparison stores_;
};

TEST_F(dead_claims, are_not_found_where_others_were_let_in_past_them) {
  pass_over_a_ticket();
  EXPECT_TRUE(std::holds_alternative<tickets::nothing>(ask(task::find, 2)))
      << "it would look granted, beside the one who holds";
}

TEST_F(dead_claims, are_not_taken_for_the_living_claim_of_their_owner) {
  pass_over_a_ticket();
  const fencing_token anew = place(2);  // its machine noticed, and queued again; the reply gets lost
  const auto found = std::get<tickets::place>(ask(task::find, 2));
  EXPECT_EQ(found.token, anew);
  EXPECT_FALSE(found.granted);
}

TEST_F(dead_claims, are_not_withdrawn_in_the_place_of_the_living) {
  pass_over_a_ticket();
  const fencing_token anew = place(2);
  EXPECT_TRUE(std::holds_alternative<tickets::done>(ask(task::withdraw, 2)));
  EXPECT_TRUE(std::holds_alternative<tickets::nothing>(ask(task::look, 2, anew)));
}

TEST_F(dead_claims, hide_nobody_when_a_name_is_released_by_force) {
  place(1);
  pass(500ms);
  const fencing_token waiter = place(2);
  pass(600ms);
  place(3);  // buries the dead holder on its way
  EXPECT_EQ(std::get<tickets::count>(ask(task::force_release, 9)).value, 0U);
  ASSERT_EQ(notifications.size(), 1U) << "a release by force hands on";
  EXPECT_EQ(notifications[0].message.token, waiter);
}

TEST_F(dead_claims, are_not_among_the_first_waiters) {
  for (std::uint8_t owner = 1; owner <= 2; ++owner) place(owner);
  pass(500ms);
  for (std::uint8_t owner = 3; owner <= 6; ++owner) place(owner);
  pass(600ms);  // the first two have ended; nobody has buried them
  for (const std::size_t most : {0, 1, 3, 9}) {
    const auto seen = std::get<std::optional<lock_state>>(inspect(most));
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->waiters.size(), std::min<std::size_t>(most, 4));
  }
}

}  // namespace
}  // namespace holdfast
