// SPDX-License-Identifier: Apache-2.0
// Watches of single names at Redis: what they cost, and what a user's missing rights do to them.

#include <atomic>

#include "faults/faults.hpp"
#include "faults/redis/cluster.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::direction;

/// Counts the calls of its watches.
class counted_watch {
 public:
  counted_watch(const client& by, const std::string& name) : watch_{by.watch(name, [this] { ++calls_; })} {}
  explicit counted_watch(const client& by) : watch_{by.watch([this] { ++calls_; })} {}

  [[nodiscard]] int calls() const { return calls_; }
  void expect_call_after(int seen) const {
    await([&] { return calls_ > seen; }, "it is not called");
  }
  /// Has been called for each of these changes.
  void pace(client& by, const std::string& name, int changes) const {
    mutex lock{by, name};
    for (int i = 0; i < changes; ++i) {
      const int seen = calls_;
      EXPECT_FALSE(lock.acquire().release());
      expect_call_after(seen);
    }
  }

 private:
  std::atomic<int> calls_ = 0;
  std::shared_ptr<void> watch_;  // last: it ends first
};

class redis_watches : public testing::Test {
 protected:
  [[nodiscard]] std::string far_url(const std::string& login = {}) const {
    return "redis://" + login + "127.0.0.1:" + std::to_string(line_.port()) + "?failover_guard=0";
  }
  [[nodiscard]] std::size_t heard() const { return line_.passed(direction::to_client); }
  /// How many bytes the server sends until it has answered another look, that answer included.
  std::size_t answer_size(const client& onlooker) {
    const std::size_t before = heard();
    (void)onlooker.inspect("stock");
    return heard() - before;
  }

  static constexpr int changes = 30;
  test::redis_server server_;
  test::fault_proxy line_{server_.port()};
  client others_{server_.url()};
};

TEST_F(redis_watches, of_a_name_cost_no_byte_for_other_names) {
  const client onlooker{far_url()};
  const counted_watch all{others_};
  (void)onlooker.inspect("stock");  // connects
  const counted_watch watch{onlooker, "stock"};
  watch.expect_call_after(0);  // its commands have been answered
  const std::size_t answer = answer_size(onlooker);
  const std::size_t before = heard();
  all.pace(others_, "other", changes);
  EXPECT_EQ(answer_size(onlooker), answer);
  EXPECT_EQ(heard(), before + answer);

  const int seen = watch.calls();
  EXPECT_FALSE(mutex(others_, "stock").acquire().release());
  watch.expect_call_after(seen);
}

// However often it changes: the keys are tracked anew once a burst.
TEST_F(redis_watches, of_a_name_that_changes_all_the_time_cost_little) {
  const client onlooker{far_url()};
  (void)onlooker.inspect("stock");  // connects
  const counted_watch watch{onlooker, "stock"};
  watch.expect_call_after(0);  // its commands have been answered
  const std::size_t before = line_.passed(direction::to_server);
  const auto begin = boot_clock::now();
  mutex lock{others_, "stock"};
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(lock.acquire().release());
  const auto bursts = static_cast<std::size_t>((boot_clock::now() - begin) / 5ms) + 2;
  constexpr std::size_t commands = 300;  // bytes, for CLIENT CACHING and EXISTS with four keys
  EXPECT_LE(line_.passed(direction::to_server) - before, bursts * commands);
}

TEST_F(redis_watches, of_names_end_with_tracking) {
  const client onlooker{server_.url()};
  auto watch = onlooker.watch("stock", [] {});
  const auto tracking = [&] { return server_.ask({"CLIENT", "LIST"}).find("redir=0") != std::string::npos; };
  await(tracking, "it does not begin");
  auto all = onlooker.watch([] {});
  watch.reset();
  EXPECT_FALSE(mutex(others_, "stock").acquire().release());
  all.reset();
  await([&] { return !tracking(); }, "it does not end");
}

// Both ways of tracking, one after the other, on one connection.
TEST_F(redis_watches, of_a_name_go_on_beside_a_watch_of_all_that_comes_and_goes) {
  const client onlooker{server_.url()};
  const counted_watch watch{onlooker, "stock"};
  watch.expect_call_after(0);
  for (int turn = 0; turn < 3; ++turn) {
    const counted_watch all{onlooker};
    all.expect_call_after(0);
    int seen = watch.calls();
    EXPECT_FALSE(mutex(others_, "stock").acquire().release());
    watch.expect_call_after(seen);
    seen = watch.calls();
    all.pace(others_, "other", changes);
    EXPECT_LT(watch.calls() - seen, changes / 2);
  }
  EXPECT_FALSE(onlooker.inspect("other").value_or(lock_state{}).holders.size() > 1);
  const int seen = watch.calls();
  EXPECT_FALSE(mutex(others_, "stock").acquire().release());
  watch.expect_call_after(seen);
}

TEST_F(redis_watches, of_a_name_hear_that_everything_was_flushed) {
  const client onlooker{server_.url()};
  const auto held = mutex{others_, "stock"}.acquire();
  const counted_watch watch{onlooker, "stock"};
  watch.expect_call_after(0);
  (void)onlooker.inspect("stock");
  const int seen = watch.calls();
  EXPECT_EQ(server_.ask({"FLUSHALL"}), "OK");
  watch.expect_call_after(seen);
}

// Then the server reports all keys.
TEST_F(redis_watches, of_a_name_do_without_the_rights_to_track_single_keys) {
  for (const char* missing : {"-client|caching", "-exists"}) {
    server_.ask({"ACL", "SETUSER", "clerk", "reset", "on", ">hunter2", "~*", "&*", "+@all", missing});
    const client onlooker{far_url("clerk:hunter2@")};
    const counted_watch watch{onlooker, "stock"};
    watch.expect_call_after(0);
    const counted_watch all{others_};
    all.pace(others_, "stock", 3);
    watch.expect_call_after(1);
    const int seen = watch.calls();
    all.pace(others_, "other", changes);
    EXPECT_LT(watch.calls() - seen, changes / 2) << missing;
  }
}

class redis_cluster_name_watches : public on_cluster {
 protected:
  redis_cluster_name_watches() : on_cluster{primaries()} {}

  void expect_to_hear_of(const std::string& name, const counted_watch& watch) {
    const int seen = watch.calls();
    EXPECT_FALSE(mutex(others_, name, lasting()).acquire().release());
    watch.expect_call_after(seen);
  }
  client others_{nodes_.url()};
};

TEST_F(redis_cluster_name_watches, hear_of_names_on_all_shards) {
  const client onlooker{nodes_.url()};
  for (const std::string& each : names_everywhere()) {
    const counted_watch watch{onlooker, each};
    watch.expect_call_after(0);
    (void)onlooker.inspect(each);
    expect_to_hear_of(each, watch);
  }
}

TEST_F(redis_cluster_name_watches, follow_their_name_to_another_server) {
  const client onlooker{nodes_.url(), client_options{}.locks(lasting())};
  const counted_watch watch{onlooker, "stock"};
  watch.expect_call_after(0);
  for (int turn = 0; turn < 3; ++turn) {
    const int seen = watch.calls();
    move("stock", (owner_of("stock") + 1) % 3);
    (void)onlooker.inspect("stock");  // learns where it is, unless the keys that moved have shown it before
    watch.expect_call_after(seen);
    expect_to_hear_of("stock", watch);
    expect_to_hear_of("stock", watch);
  }
}

}  // namespace
}  // namespace holdfast::faults
