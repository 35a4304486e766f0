// Controls, as docs/stores/redlock.md says: a majority loses what it has granted, and no guard can see it.
// Two hold, until the first of them asks the servers again. Only the tokens tell them apart.

#include <filesystem>
#include <initializer_list>
#include <string>

#include "faults/faults.hpp"
#include "support/fenced_register.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;

class redis_quorum_lost_memory : public testing::Test {
 protected:
  static constexpr std::initializer_list<std::size_t> majority{0, 2};

  /// The servers have been there for long.
  lease hold() {
    for (std::size_t i = 0; i < servers_.size(); ++i) servers_.server(i).forget_start();
    auto held = mutex{one_.emplace(url_), "stock", fixed()}.acquire();
    await([&] { return servers_.holds_of("stock") == servers_.size(); }, "a server has no hold");
    EXPECT_TRUE(storage_.write(held.token()));
    return held;
  }
  void expect_that_two_hold_whom_tokens_tell_apart(lease& first) {
    client other{url_};
    auto second = mutex{other, "stock", fixed()}.acquire();
    EXPECT_TRUE(first.held());
    EXPECT_TRUE(second.held());
    EXPECT_GT(second.token(), first.token());
    EXPECT_TRUE(storage_.write(second.token()));
    EXPECT_FALSE(storage_.write(first.token())) << "a resource that checks tokens has accepted a stale one";
    EXPECT_EQ(renew(first), renewal::lost);
    EXPECT_FALSE(first.held());
    EXPECT_EQ(renew(second), renewal::renewed);
  }
  static lock_options fixed() { return lock_options{}.ttl(50s).renewal(false).retry(patient().retry()); }

  redis_quorum servers_{{.servers = 3, .append_only = true}};
  std::string url_ = servers_.guarded_url("?restart_guard=60s&node_timeout=20s");
  test::scratch_folder folder_;
  test::fenced_register storage_{folder_.file("storage")};
  std::optional<client> one_;
};

TEST_F(redis_quorum_lost_memory, of_a_majority_that_is_emptied_while_it_runs_lets_two_in) {
  auto first = hold();
  for (const std::size_t each : majority) {
    EXPECT_EQ(servers_.server(each).ask({"FLUSHALL"}), "OK");
    // The guard after a start would be over.
    servers_.server(each).forget_start();
  }
  expect_that_two_hold_whom_tokens_tell_apart(first);
}

// The copies say that each write was on the disk before its reply. That was so, and their age shows nowhere.
TEST_F(redis_quorum_lost_memory, of_a_majority_that_is_restored_from_old_copies_lets_two_in) {
  namespace files = std::filesystem;
  const auto data_of = [&](std::size_t each) { return servers_.server(each).file("appendonlydir"); };
  const auto copy_of = [&](std::size_t each) { return folder_.file("copy" + std::to_string(each)); };
  EXPECT_FALSE(hold().release());
  // A release returns when a majority has carried it out. A copy from before it would keep the second
  // waiting.
  await([&] { return servers_.holds_of("stock") == 0; }, "a server still has the hold");
  for (const std::size_t each : majority) {
    servers_.server(each).kill();
    files::copy(data_of(each), copy_of(each));
    servers_.server(each).start();
  }
  auto first = hold();
  for (const std::size_t each : majority) {
    servers_.server(each).kill();
    files::remove_all(data_of(each));
    files::copy(copy_of(each), data_of(each));
    servers_.server(each).start();
  }
  expect_that_two_hold_whom_tokens_tell_apart(first);
}

}  // namespace
}  // namespace holdfast::faults
