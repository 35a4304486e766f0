// Several independent servers, of which a majority decides: who holds, and who waits, when one of the two is
// another library's client.

#include <algorithm>
#include <cstdint>
#include <future>
#include <gmock/gmock.h>

#include "interop/redis_libraries.hpp"
#include "support/child_process.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t minority = 2;
constexpr std::size_t majority = 3;

template <class Other>
class quorum_interop : public testing::Test {
 protected:
  void SetUp() override {
    if (!Other::is_there()) GTEST_SKIP() << redsync::is_missing;
    other_ = std::make_unique<Other>(sockets_of(quorum_));
  }

  test::child_process command(const std::vector<std::string>& wait) {
    std::vector<std::string> all{HOLDFAST_COMMAND, "run", "stock", "--store", url_};
    all.insert(all.end(), wait.begin(), wait.end());
    all.insert(all.end(), {"--", "true"});
    return {all, {}};
  }
  /// Renews a hold. A renewal returns when a majority has carried it out: waits until every server has.
  testing::AssertionResult renewed_everywhere(lease& held) {
    const auto of_each = [this](const std::vector<std::string>& words) {
      for (std::size_t i = 0; i < quorum_.size(); ++i) ends_.at(i) = std::stoll(quorum_.server(i).ask(words));
    };
    constexpr std::int64_t soon = 5'000;  // less than the ttl
    of_each({"PEXPIRE", "redlock:stock", std::to_string(soon)});
    if (held.renew() != renewal::renewed) return testing::AssertionFailure() << "not renewed";
    const auto wait_limit = boot_clock::now() + 60s;
    do {
      if (boot_clock::now() > wait_limit) return testing::AssertionFailure() << "a server has not renewed it";
      of_each({"PTTL", "redlock:stock"});
    } while (std::any_of(ends_.begin(), ends_.end(), [](std::int64_t left) { return left <= soon; }));
    return testing::AssertionSuccess();
  }
  bool somebody_waits() { return !locks_.inspect("stock").value_or(lock_state{}).waiters.empty(); }

  test::redis_quorum quorum_;
  std::string url_ = quorum_.url("?node_timeout=20s&prefix=redlock:");  // pottery has no keys without it
  client locks_{url_};
  mutex lock_{locks_, "stock"};
  std::unique_ptr<client_process> other_;
  std::vector<std::int64_t> ends_ = std::vector<std::int64_t>(quorum_.size());  // of the key at each server
};

using others = testing::Types<redlock, redsync, pottery>;
class names {
 public:
  template <class Other>
  static std::string GetName(int) {
    if (std::is_same_v<Other, redlock>) return "redlock";
    return std::is_same_v<Other, redsync> ? "redsync" : "pottery";
  }
};
TYPED_TEST_SUITE(quorum_interop, others, names);

TYPED_TEST(quorum_interop, ours_waits_for_the_other_to_release) {
  ASSERT_EQ(this->other_->ask("hold redlock:stock ttl=60000"), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_FALSE(this->lock_.try_acquire_for(2s));
  EXPECT_NE(this->command({"--wait", "0"}).wait(60s), 0);
  auto waiting = std::async(std::launch::async, [this] { return this->lock_.acquire(); });
  const auto wait_limit = boot_clock::now() + 60s;
  while (!this->somebody_waits()) ASSERT_LT(boot_clock::now(), wait_limit) << "nobody waits";
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(this->other_->ask("release"), "released") << "what is not ours is not touched";
  ASSERT_EQ(waiting.wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(waiting.get().held());
}

TYPED_TEST(quorum_interop, ours_waits_until_the_other_has_expired) {
  ASSERT_EQ(this->other_->ask("hold redlock:stock ttl=3000"), "held");
  this->other_->kill();
  EXPECT_TRUE(this->lock_.acquire().held());
}

TYPED_TEST(quorum_interop, the_other_waits_for_ours) {
  auto held = this->lock_.acquire();
  EXPECT_EQ(this->other_->ask("hold redlock:stock ttl=60000 within=0"), "refused");
  this->other_->tell("hold redlock:stock ttl=60000");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_EQ(this->other_->hear(), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
}

TYPED_TEST(quorum_interop, neither_releases_what_the_other_holds_now) {
  ASSERT_EQ(this->other_->ask("hold redlock:stock ttl=3000"), "held");
  auto held = this->lock_.acquire();
  EXPECT_THAT(this->other_->ask("release"), testing::StartsWith("failed"));
  ASSERT_TRUE(this->renewed_everywhere(held));
  for (std::size_t i = 0; i < this->quorum_.size(); ++i)
    this->quorum_.server(i).ask({"DEL", "redlock:stock"});
  ASSERT_EQ(this->other_->ask("hold redlock:stock ttl=60000"), "held");
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_EQ(this->other_->ask("release"), "released");
}

TYPED_TEST(quorum_interop, our_readers_keep_the_other_out) {
  shared_mutex door{this->locks_, "stock"};
  auto first = door.acquire_shared();
  auto second = door.acquire_shared();
  EXPECT_FALSE(first.release());
  EXPECT_EQ(this->other_->ask("hold redlock:stock ttl=60000 within=0"), "refused");
  EXPECT_FALSE(second.release());
  EXPECT_EQ(this->other_->ask("hold redlock:stock ttl=60000"), "held");
}

TYPED_TEST(quorum_interop, the_command_and_the_other_exclude_each_other) {
  EXPECT_EQ(this->command({}).wait(60s), 0);
  ASSERT_EQ(this->other_->ask("hold redlock:stock ttl=60000"), "held");
  auto waiting = this->command({});
  const auto wait_limit = boot_clock::now() + 60s;
  while (!this->somebody_waits()) ASSERT_LT(boot_clock::now(), wait_limit) << "nobody waits";
  EXPECT_EQ(this->other_->ask("release"), "released");
  EXPECT_EQ(waiting.wait(60s), 0);
}

TYPED_TEST(quorum_interop, the_other_blocks_nobody_from_a_minority) {
  TypeParam astray{sockets_of(this->quorum_, minority)};  // all the servers that it knows of
  ASSERT_EQ(astray.ask("hold redlock:stock ttl=60000"), "held");
  for (int turn = 0; turn < 20; ++turn) {
    auto held = this->lock_.try_acquire();
    ASSERT_TRUE(held) << "turn " << turn;
    EXPECT_FALSE(held->release());
  }
  auto held = this->lock_.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(astray.ask("release"), "released") << "what is not ours is not touched";
  EXPECT_EQ(this->other_->ask("hold redlock:stock ttl=60000 within=0"), "refused")
      << "ours holds the majority";
}

TYPED_TEST(quorum_interop, the_other_blocks_ours_from_a_majority) {
  TypeParam most{sockets_of(this->quorum_, majority)};
  ASSERT_EQ(most.ask("hold redlock:stock ttl=60000"), "held");
  // pottery holds, for itself, as soon as two of its three servers have answered.
  const auto wait_limit = boot_clock::now() + 60s;
  while (this->quorum_.holds_of("stock", "redlock:") < majority)
    ASSERT_LT(boot_clock::now(), wait_limit) << "the other holds at a minority";
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_FALSE(this->lock_.try_acquire_for(2s));
  EXPECT_EQ(most.ask("release"), "released");
  EXPECT_TRUE(this->lock_.try_acquire_for(60s));
}

TYPED_TEST(quorum_interop, they_exclude_each_other_with_two_servers_dead) {
  for (std::size_t i = 0; i < minority; ++i) this->quorum_.server(i).kill();
  auto held = this->lock_.acquire();
  EXPECT_EQ(this->other_->ask("hold redlock:stock ttl=60000 within=0"), "refused");
  this->other_->tell("hold redlock:stock ttl=60000");
  EXPECT_FALSE(held.release());
  EXPECT_EQ(this->other_->hear(), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_EQ(this->other_->ask("release"), "released");
  EXPECT_TRUE(this->lock_.try_acquire_for(60s));
}

}  // namespace
}  // namespace holdfast::interop
