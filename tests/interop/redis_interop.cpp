// SPDX-License-Identifier: Apache-2.0
// Who holds, and who waits, when one of the two is another library's client: on one server, and on several
// independent servers, of which a majority decides.

#include <algorithm>
#include <cstdint>
#include <future>
#include <gmock/gmock.h>
#include <memory>
#include <type_traits>

#include "interop/redis_libraries.hpp"
#include "support/child_process.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t minority = 2;
constexpr std::size_t majority = 3;

template <class Library>
struct on_one {
  using library = Library;

  [[nodiscard]] std::unique_ptr<client_process> start() { return std::make_unique<Library>(servers); }
  /// Of each server.
  std::vector<std::string> ask(const std::vector<std::string>& words) { return {servers.ask(words)}; }

  test::redis_server servers;
  const std::string key = "stock";
  const std::string url = servers.url("?prefix=");
};

template <class Library>
struct on_five {
  using library = Library;

  [[nodiscard]] std::unique_ptr<client_process> start() {
    return std::make_unique<Library>(sockets_of(servers));
  }
  std::vector<std::string> ask(const std::vector<std::string>& words) {
    std::vector<std::string> answers;
    for (std::size_t i = 0; i < servers.size(); ++i) answers.push_back(servers.server(i).ask(words));
    return answers;
  }

  test::redis_quorum servers;
  const std::string key = "redlock:stock";  // pottery has no keys without the prefix
  const std::string url = servers.url("?node_timeout=20s&prefix=redlock:");
};

template <class Servers>
class redis_interop : public testing::Test {
 protected:
  void SetUp() override {
    if (!Servers::library::is_there()) GTEST_SKIP() << redsync::is_missing;
    other_ = setup_.start();
  }

  /// Renews a hold. A renewal returns when a majority has carried it out: waits until every server has.
  testing::AssertionResult renewed_everywhere(lease& held) {
    constexpr std::int64_t soon = 5'000;  // less than the ttl
    setup_.ask({"PEXPIRE", setup_.key, std::to_string(soon)});
    if (held.renew() != renewal::renewed) return testing::AssertionFailure() << "not renewed";
    const auto is_renewed = [](const std::string& left) { return std::stoll(left) > soon; };
    const auto wait_limit = boot_clock::now() + 60s;
    while (!std::ranges::all_of(setup_.ask({"PTTL", setup_.key}), is_renewed)) {
      if (boot_clock::now() > wait_limit) return testing::AssertionFailure() << "a server has not renewed it";
    }
    return testing::AssertionSuccess();
  }
  void expect_waiter() {
    const auto wait_limit = boot_clock::now() + 60s;
    while (locks_.inspect("stock").value_or(lock_state{}).waiters.empty())
      ASSERT_LT(boot_clock::now(), wait_limit) << "nobody waits";
  }
  std::string hold(const std::string& options) { return other_->ask("hold " + setup_.key + ' ' + options); }

  Servers setup_;
  client locks_{setup_.url};
  mutex lock_{locks_, "stock"};
  std::unique_ptr<client_process> other_;
};

template <class Library>
std::string name_of() {
  if (std::is_same_v<Library, redis_py>) return "redis_py";
  if (std::is_same_v<Library, redlock>) return "redlock";
  return std::is_same_v<Library, redsync> ? "redsync" : "pottery";
}
class names {
 public:
  template <class Servers>
  static std::string GetName(int) {
    using library = typename Servers::library;
    return name_of<library>() + (std::is_same_v<Servers, on_five<library>> ? "_on_five" : "");
  }
};
using all_servers =
    testing::Types<on_one<redis_py>, on_one<redlock>, on_five<redlock>, on_five<redsync>, on_five<pottery>>;
TYPED_TEST_SUITE(redis_interop, all_servers, names);

TYPED_TEST(redis_interop, ours_waits_for_the_other_to_release) {
  ASSERT_EQ(this->hold("ttl=60000"), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_FALSE(this->lock_.try_acquire_for(2s));
  auto waiting = std::async(std::launch::async, [this] { return this->lock_.acquire(); });
  this->expect_waiter();
  const auto values = this->setup_.ask({"GET", this->setup_.key});
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  EXPECT_EQ(this->setup_.ask({"GET", this->setup_.key}), values) << "what is not ours is not touched";
  EXPECT_EQ(this->other_->ask("release"), "released");
  ASSERT_EQ(waiting.wait_for(60s), std::future_status::ready);
  EXPECT_TRUE(waiting.get().held());
}

TYPED_TEST(redis_interop, ours_waits_until_the_other_has_expired) {
  ASSERT_EQ(this->hold("ttl=3000"), "held");
  this->other_->kill();
  EXPECT_TRUE(this->lock_.acquire().held());
}

TYPED_TEST(redis_interop, the_other_waits_for_ours) {
  auto held = this->lock_.acquire();
  EXPECT_EQ(this->hold("ttl=60000 within=0"), "refused");
  this->other_->tell("hold " + this->setup_.key + " ttl=60000");
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_FALSE(held.release());
  EXPECT_EQ(this->other_->hear(), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
}

TYPED_TEST(redis_interop, neither_releases_what_the_other_holds_now) {
  ASSERT_EQ(this->hold("ttl=3000"), "held");
  auto held = this->lock_.acquire();
  EXPECT_THAT(this->other_->ask("release"), testing::StartsWith("failed"));
  ASSERT_TRUE(this->renewed_everywhere(held));
  this->setup_.ask({"DEL", this->setup_.key});
  ASSERT_EQ(this->hold("ttl=60000"), "held");
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_EQ(this->other_->ask("release"), "released");
}

TYPED_TEST(redis_interop, our_readers_keep_the_other_out) {
  shared_mutex door{this->locks_, "stock"};
  auto first = door.acquire_shared();
  auto second = door.acquire_shared();
  EXPECT_EQ(this->hold("ttl=60000 within=0"), "refused");
  EXPECT_FALSE(first.release());
  EXPECT_EQ(this->hold("ttl=60000 within=0"), "refused");
  EXPECT_FALSE(second.release());
  EXPECT_EQ(this->hold("ttl=60000"), "held");
}

TYPED_TEST(redis_interop, the_other_is_seen) {
  ASSERT_EQ(this->hold("ttl=60000"), "held");
  const auto state = this->locks_.inspect("stock");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->holders.size(), 1U);
}

// redis-py's default: a key that nobody but its holder removes.
TEST(redis_py_interop, without_a_ttl_it_is_waited_for_all_the_same) {
  test::redis_server server;
  client locks{server.url("?prefix=")};
  mutex lock{locks, "stock"};
  redis_py other{server};
  ASSERT_EQ(other.ask("hold stock"), "held");
  EXPECT_FALSE(lock.try_acquire_for(2s));
  EXPECT_EQ(server.ask({"PTTL", "stock"}), "-1");
  EXPECT_EQ(other.ask("release"), "released");
  EXPECT_TRUE(lock.try_acquire_for(60s));
}

/// What only several servers can show, and the command.
template <class Servers>
class quorum_interop : public redis_interop<Servers> {
 protected:
  test::child_process command(const std::vector<std::string>& wait) {
    std::vector<std::string> all{HOLDFAST_COMMAND, "run", "stock", "--store", this->setup_.url};
    all.insert(all.end(), wait.begin(), wait.end());
    all.insert(all.end(), {"--", "true"});
    return {all, {}};
  }
};
using majorities = testing::Types<on_five<redlock>, on_five<redsync>, on_five<pottery>>;
TYPED_TEST_SUITE(quorum_interop, majorities, names);

TYPED_TEST(quorum_interop, the_command_and_the_other_exclude_each_other) {
  EXPECT_EQ(this->command({}).wait(60s), 0);
  ASSERT_EQ(this->hold("ttl=60000"), "held");
  EXPECT_NE(this->command({"--wait", "0"}).wait(60s), 0);
  auto waiting = this->command({});
  this->expect_waiter();
  EXPECT_EQ(this->other_->ask("release"), "released");
  EXPECT_EQ(waiting.wait(60s), 0);
}

TYPED_TEST(quorum_interop, the_other_blocks_nobody_from_a_minority) {
  typename TypeParam::library astray{
      sockets_of(this->setup_.servers, minority)};  // all the servers that it knows of
  ASSERT_EQ(astray.ask("hold redlock:stock ttl=60000"), "held");
  for (int turn = 0; turn < 20; ++turn) {
    auto held = this->lock_.try_acquire();
    ASSERT_TRUE(held) << "turn " << turn;
    EXPECT_FALSE(held->release());
  }
  auto held = this->lock_.acquire();
  EXPECT_EQ(held.renew(), renewal::renewed);
  EXPECT_EQ(astray.ask("release"), "released") << "what is not ours is not touched";
  EXPECT_EQ(this->hold("ttl=60000 within=0"), "refused") << "ours holds the majority";
}

TYPED_TEST(quorum_interop, the_other_blocks_ours_from_a_majority) {
  typename TypeParam::library most{sockets_of(this->setup_.servers, majority)};
  ASSERT_EQ(most.ask("hold redlock:stock ttl=60000"), "held");
  // pottery holds, for itself, as soon as two of its three servers have answered.
  const auto wait_limit = boot_clock::now() + 60s;
  while (this->setup_.servers.holds_of("stock", "redlock:") < majority)
    ASSERT_LT(boot_clock::now(), wait_limit) << "the other holds at a minority";
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_FALSE(this->lock_.try_acquire_for(2s));
  EXPECT_EQ(most.ask("release"), "released");
  EXPECT_TRUE(this->lock_.try_acquire_for(60s));
}

TYPED_TEST(quorum_interop, they_exclude_each_other_with_two_servers_dead) {
  for (std::size_t i = 0; i < minority; ++i) this->setup_.servers.server(i).kill();
  auto held = this->lock_.acquire();
  EXPECT_EQ(this->hold("ttl=60000 within=0"), "refused");
  this->other_->tell("hold redlock:stock ttl=60000");
  EXPECT_FALSE(held.release());
  EXPECT_EQ(this->other_->hear(), "held");
  EXPECT_FALSE(this->lock_.try_acquire());
  EXPECT_EQ(this->other_->ask("release"), "released");
  EXPECT_TRUE(this->lock_.try_acquire_for(60s));
}

}  // namespace
}  // namespace holdfast::interop
