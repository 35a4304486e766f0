// Which keys `holdfast doctor` takes for whose.

#include <gtest/gtest.h>
#include <string>

#include "stores/redis/protocol/key_sample.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/server_facts.hpp"

namespace holdfast::redis {
namespace {

using key_kind = key_sample::kind;

TEST(redis_key_sample, knows_each_key_of_a_name_and_of_a_store) {
  for (const char* prefix : {"holdfast:", "", "jobs{eu}:", "a}b"}) {
    for (const char* name : {"nightly", "a}b", "{}z", "{x}y"}) {
      const keys of = keys::of(prefix, name);
      EXPECT_EQ(kind_of(of.fence, prefix), key_kind::fence) << of.fence;
      for (const std::string& each : {of.lock, of.waiters, of.holders})
        EXPECT_EQ(kind_of(each, prefix), key_kind::none) << each;
      const std::string stem = of.fence.substr(0, of.fence.rfind('\x1f') + 1);
      EXPECT_EQ(kind_of(stem + "expiries", prefix), key_kind::older);
      EXPECT_EQ(kind_of(stem + "other", prefix), key_kind::foreign);
      EXPECT_EQ(key_sample::name_of({of.fence}, prefix), name);
    }
    for (const std::string& each : {guard_key(prefix), quorum_key(prefix), guard_key(prefix, 7)})
      EXPECT_EQ(kind_of(each, prefix), key_kind::none) << each;
  }
}

TEST(redis_key_sample, leaves_the_keys_of_others_alone) {
  const keys theirs = keys::of("theirs:holdfast:", "x");
  EXPECT_EQ(kind_of(theirs.fence, "holdfast:"), key_kind::none) << "the pattern of SCAN matches it";
  for (const char* each : {"", "\x1f",
                           "holdfast:x\x1f"
                           "queue",
                           "{holdfast:x}queue",
                           "}{\x1f"
                           "fence"})
    EXPECT_EQ(kind_of(each, "holdfast:"), key_kind::none) << each;
}

TEST(redis_key_sample, takes_a_foreign_value_for_no_claim) {
  const auto hear = [](std::string value_of_lock) {
    key_sample::entry of;
    hear_key({value::kind::list,
              0,
              {},
              {{value::kind::text, 0, std::move(value_of_lock), {}}, {value::kind::number, 5, {}, {}}}},
             of);
    EXPECT_EQ(of.left_ms, 5);
    return of.is_held;
  };
  EXPECT_TRUE(hear("00001795203485503169 2e1c0000000"));
  EXPECT_TRUE(hear("holdfast:shared 1 1073741824"));
  for (const char* each : {"", "token", "2e1c0000000000000000 2e1c0000000", "00001795203485503169"})
    EXPECT_FALSE(hear(each)) << each;
  key_sample::entry gone;
  hear_key({value::kind::error, 0, "MOVED 1 b:1", {}}, gone);
  EXPECT_EQ(gone.left_ms, -2);
}

server_facts facts_with(std::vector<key_sample::entry> entries) {
  server_facts facts;
  facts.side_keys.emplace().entries = std::move(entries);
  facts.side_keys->is_whole = true;
  return facts;
}

TEST(redis_key_sample, blames_no_fence_that_is_gone_or_idle) {
  dialect in;
  for (const key_sample::entry& each : {key_sample::entry{"{holdfast:x}\x1f"
                                                          "fence",
                                                          key_kind::fence, -2, true},
                                        key_sample::entry{"{holdfast:x}\x1f"
                                                          "fence",
                                                          key_kind::fence, 1, false},
                                        key_sample::entry{"{holdfast:x}\x1f"
                                                          "fence",
                                                          key_kind::fence, 1'800'000, true},
                                        key_sample::entry{"{holdfast:x}\x1f"
                                                          "queue",
                                                          key_kind::older, -2, false}}) {
    std::vector<finding> all;
    examine_keys(facts_with({each}), in, all);
    EXPECT_EQ(all.size(), 2U);
    for (const finding& one : all) EXPECT_EQ(one.result, finding::grade::kept) << one.observed;
  }
  std::vector<finding> short_of;
  examine_keys(facts_with({{"{holdfast:x}\x1f"
                            "fence",
                            key_kind::fence, 1'799'999, true}}),
               in, short_of);
  EXPECT_EQ(short_of.front().result, finding::grade::warning);
}

}  // namespace
}  // namespace holdfast::redis
