// SPDX-License-Identifier: Apache-2.0
// Keys where ours should be that others made: reported or waited for, never changed.

#include <functional>
#include <future>
#include <map>
#include <ostream>
#include <sstream>

#include "faults/faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

class redis_keys : public testing::Test {
 protected:
  std::string dump(const std::string& key) { return server_.ask({"DUMP", key}); }

  test::redis_server server_;
  client locks_{server_.url(), client_options{}.locks(patient())};
  shared_mutex lock_{locks_, "stock"};
};

/// A key of the name "stock", and what Holdfast does on it whatever the type that somebody has made of it.
struct intrusion {
  std::string key;
  std::string our_type;
  // On a name that the server remembers, and that nobody else uses, an exclusive claim does not read all
  // keys.
  bool in_the_way_of_one_alone;
  renewal of_one_alone;
  std::error_code release_of_one_alone;
  renewal of_readers;
};
void PrintTo(const intrusion& shown, std::ostream* out) { *out << testing::PrintToString(shown.key); }

const std::string side = "{holdfast:stock}\x1f";

class redis_keys_of_another_type : public redis_keys, public testing::WithParamInterface<intrusion> {
 protected:
  using state = std::map<std::string, std::string>;

  /// Calls `check` for each type that the key should not have.
  void for_each_type(const std::function<void(const std::string& type)>& prepare_and_check) {
    for (const std::string type : {"string", "list", "hash", "zset", "set", "stream"}) {
      if (type == GetParam().our_type) continue;
      SCOPED_TRACE(type);
      server_.ask({"FLUSHALL"});
      prepare_and_check(type);
    }
  }
  void intrude(const std::string& type) {
    const auto& key = GetParam().key;
    const std::map<std::string, std::vector<std::string>> commands{
        {"string", {"SET", key, "theirs"}}, {"list", {"LPUSH", key, "theirs"}},
        {"hash", {"HSET", key, "a", "b"}},  {"zset", {"ZADD", key, "1", "theirs"}},
        {"set", {"SADD", key, "theirs"}},   {"stream", {"XADD", key, "*", "a", "b"}}};
    server_.ask({"DEL", key});
    server_.ask(commands.at(type));
    theirs_ = dump(key);
  }
  state all() {
    state result;
    std::istringstream keys{server_.ask({"KEYS", "*"})};
    for (std::string key; std::getline(keys, key);) result[key] = dump(key);
    return result;
  }
  void expect_untouched() {
    EXPECT_EQ(dump(GetParam().key), theirs_);
    EXPECT_EQ(server_.ask({"PTTL", GetParam().key}), "-1") << "it has been given an end";
  }
  /// Told as what it is, and nothing changed at all.
  template <class Call>
  void expect_refusal(Call call) {
    const auto before = all();
    const auto refused = failure_of(call);
    EXPECT_EQ(refused.code, errc::wrong_type) << refused.text;
    EXPECT_THAT(refused.text, testing::HasSubstr("holdfast:stock")) << "which key?";
    EXPECT_EQ(all(), before);
    expect_untouched();
  }

  counting_semaphore permits_{locks_, "stock", 5};

 private:
  std::string theirs_;
};

TEST_P(redis_keys_of_another_type, are_reported_to_who_comes) {
  for_each_type([this](const std::string& type) {
    intrude(type);
    expect_refusal([&] { (void)lock_.acquire(); });
    expect_refusal([&] { (void)lock_.try_acquire(); });
    expect_refusal([&] { (void)lock_.try_acquire_for(60s); });
    if (!GetParam().in_the_way_of_one_alone) {
      server_.ask({"DEL", GetParam().key});
      EXPECT_FALSE(lock_.acquire().release());
      intrude(type);
      for (int turn = 0; turn < 2; ++turn) EXPECT_FALSE(lock_.acquire().release());
      expect_untouched();
    }
    expect_refusal([&] { (void)lock_.acquire_shared(); });
    expect_refusal([&] { (void)lock_.try_acquire_shared(); });
    expect_refusal([&] { (void)lock_.try_acquire_shared_for(60s); });
    expect_refusal([&] { (void)permits_.acquire_permits(3); });
    expect_refusal([&] { (void)permits_.try_acquire_permits(3); });
    expect_refusal([&] { (void)permits_.try_acquire_permits_for(3, 60s); });
  });
}

TEST_P(redis_keys_of_another_type, are_reported_to_who_looks_and_listed_as_no_lock) {
  for_each_type([this](const std::string& type) {
    intrude(type);
    expect_refusal([&] { (void)locks_.inspect("stock"); });
    expect_refusal([&] { (void)locks_.force_release("stock"); });
    const auto before = all();
    EXPECT_THAT(locks_.list(true), testing::IsEmpty());
    EXPECT_EQ(all(), before);
  });
}

TEST_P(redis_keys_of_another_type, are_left_alone_by_who_holds_alone) {
  for_each_type([this](const std::string& type) {
    auto held = lock_.acquire();
    intrude(type);
    expect_refusal([&] { held.downgrade(); });
    expect_refusal([&] { (void)locks_.inspect("stock"); });
    expect_refusal([&] { (void)locks_.force_release("stock"); });
    EXPECT_EQ(held.renew(), GetParam().of_one_alone);
    EXPECT_TRUE(held.held()) << "until its deadline";
    expect_untouched();
    EXPECT_EQ(held.release(), GetParam().release_of_one_alone);
    expect_untouched();
  });
}

TEST_P(redis_keys_of_another_type, are_left_alone_by_who_holds_together) {
  for_each_type([this](const std::string& type) {
    for (const bool reads : {true, false}) {
      server_.ask({"FLUSHALL"});
      auto held = reads ? lock_.acquire_shared() : permits_.acquire_permits(2);
      intrude(type);
      expect_refusal([&] { (void)locks_.inspect("stock"); });
      expect_refusal([&] { (void)locks_.force_release("stock"); });
      expect_refusal([&] { (void)lock_.acquire(); });
      EXPECT_EQ(held.renew(), GetParam().of_readers);
      EXPECT_TRUE(held.held()) << "until its deadline";
      expect_untouched();
      const auto before = all();
      EXPECT_EQ(held.release(), errc::unknown_outcome) << "refused: it ends with its ttl";
      EXPECT_EQ(all(), before);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    , redis_keys_of_another_type,
    testing::Values(intrusion{"holdfast:stock", "string", true, renewal::unknown, errc::unknown_outcome,
                              renewal::unknown},
                    intrusion{side + "fence", "string", true, renewal::renewed, {}, renewal::renewed},
                    intrusion{side + "waiters", "zset", false, renewal::renewed, {}, renewal::renewed},
                    intrusion{side + "holders", "zset", false, renewal::renewed, {}, renewal::unknown}),
    [](const auto& info) {
      const auto& key = info.param.key;
      return key.starts_with(side) ? key.substr(side.size()) : "lock";
    });

TEST_F(redis_keys, with_a_large_value_of_others_are_not_read) {
  const test::fault_proxy line{server_.port()};
  client onlooker{"redis://127.0.0.1:" + std::to_string(line.port()) + "?failover_guard=0"};
  EXPECT_TRUE(onlooker.list().empty());
  ASSERT_EQ(server_.ask({"SETRANGE", "holdfast:foreign", "40000000", "x"}), "40000001");
  const auto before = line.passed(test::direction::to_client);
  EXPECT_EQ(onlooker.list().size(), 1U);
  (void)onlooker.inspect("foreign");
  EXPECT_LT(line.passed(test::direction::to_client) - before, 100'000U);
}

TEST_F(redis_keys, with_a_foreign_value_are_waited_for) {
  for (const std::string value : {"somebody's", "", "0123456789abcdef0123456789abcdef", "\r\n*1\r\n",
                                  "holdfast:shared", "00000000000000000001 0123456789abcdef"}) {
    server_.ask({"SET", "holdfast:stock", value});
    EXPECT_FALSE(lock_.try_lock());
    EXPECT_FALSE(lock_.try_lock_for(500ms));
    EXPECT_FALSE(lock_.try_lock_shared());
    EXPECT_EQ(server_.ask({"GET", "holdfast:stock"}), value);
    EXPECT_EQ(server_.ask({"PTTL", "holdfast:stock"}), "-1");
    server_.ask({"DEL", "holdfast:stock"});
    EXPECT_TRUE(lock_.try_lock_for(60s));
    lock_.unlock();
  }
}

// A claim left behind would be granted when the name is free again, and its client, which has given up,
// would not know: nobody else would get in for a ttl.
TEST_F(redis_keys, of_another_type_keep_no_waiter_in_the_queue) {
  server_.ask({"SET", "holdfast:stock", "theirs"});
  auto waiter = std::async(std::launch::async, [&] { return failure_of([&] { lock_.lock(); }); });
  expect_waiter(locks_);
  server_.ask({"EVAL", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'theirs', '1')", "1",
               "holdfast:stock"});
  const auto refused = waiter.get();
  EXPECT_EQ(refused.code, errc::unknown_outcome) << "it may be granted until it is withdrawn";
  EXPECT_THAT(refused.text, testing::HasSubstr("is a hash"));
  await([&] { return server_.ask({"EXISTS", side + "waiters", side + "holders"}) == "0"; },
        "its claim is still there");
  EXPECT_EQ(server_.ask({"TYPE", "holdfast:stock"}), "hash");
  server_.ask({"DEL", "holdfast:stock"});
  EXPECT_TRUE(lock_.try_lock());
}

// Who is waited for is not ours to know, so nothing but the waiting itself keeps the fence.
TEST_F(redis_keys, with_a_holder_that_is_no_claim_serve_all_the_same) {
  server_.ask({"ZADD", side + "holders", "5", "theirs"});
  auto reader = lock_.acquire_shared();
  EXPECT_EQ(renew(reader), renewal::renewed);
  EXPECT_EQ(locks_.force_release("stock"), 1U);
  EXPECT_TRUE(lock_.acquire().held());
  EXPECT_EQ(server_.ask({"ZSCORE", side + "holders", "theirs"}), "5") << "it is not ours";
}

TEST_F(redis_keys, keep_the_last_token_while_somebody_waits) {
  server_.ask({"SET", "holdfast:stock", "theirs"});
  auto waiter = std::async(std::launch::async, [&] { return lock_.acquire(); });
  expect_waiter(locks_);
  server_.ask({"PEXPIRE", side + "fence", "120000"});
  const auto lives_on = [&] { return std::stoll(server_.ask({"PTTL", side + "fence"})) > 120'000; };
  await(lives_on, "it is forgotten while the name is waited for");
  server_.ask({"DEL", "holdfast:stock"});
  EXPECT_TRUE(waiter.get().held());
}

// The server may have evicted it: what is granted then has to be on record all the same.
TEST_F(redis_keys, have_the_token_of_whoever_is_granted_last) {
  const auto last = [&] { return locks_.inspect("stock").value_or(lock_state{}).last_token; };
  const auto hand_over = [&](auto acquire) {
    server_.ask({"SET", "holdfast:stock", "theirs"});
    auto waiter = std::async(std::launch::async, acquire);
    expect_waiter(locks_);
    server_.ask({"DEL", side + "fence"});
    server_.ask({"DEL", "holdfast:stock"});
    auto held = waiter.get();
    EXPECT_EQ(last(), held.token());
    EXPECT_FALSE(held.release());
  };
  hand_over([&] { return lock_.acquire(); });
  hand_over([&] { return lock_.acquire_shared(); });
}

TEST_F(redis_keys, that_others_take_from_us_are_lost_and_stay_theirs) {
  auto held = lock_.acquire();
  server_.ask({"SET", "holdfast:stock", "theirs"});
  EXPECT_EQ(held.renew(), renewal::lost);
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_EQ(server_.ask({"GET", "holdfast:stock"}), "theirs");
}

}  // namespace
}  // namespace holdfast::faults
