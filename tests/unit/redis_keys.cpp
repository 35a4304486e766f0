// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>
#include <string>

#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {
namespace {

/// Names made of what matters to hash slots, with some that does not.
rc::Gen<std::string> awkward(std::size_t least) {
  auto letters = rc::gen::elementOf(std::string{"{}{}{}ab:1"});
  return rc::gen::suchThat(rc::gen::container<std::string>(std::move(letters)),
                           [least](const std::string& s) { return s.size() >= least && s.size() < 40; });
}

std::array<std::string, 3> side_keys(const keys& k) { return {k.fence, k.waiters, k.holders}; }

TEST(redis_keys, hash_as_the_server_does) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3 % 16384) << "the check value of CRC-16/XMODEM";
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_EQ(slot_of("foo{}{bar}"), slot_of("foo{}{bar}"));
  EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar")) << "an empty tag is none";
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
}

TEST(redis_keys, are_readable_in_the_usual_case) {
  const keys k = keys::of("holdfast:", "nightly");
  EXPECT_EQ(k.lock, "holdfast:nightly");
  EXPECT_EQ(k.fence,
            "{holdfast:nightly}\x1f"
            "fence");
  EXPECT_EQ(keys::of("jobs{eu}:", "nightly").waiters, "{eu}jobs{eu}:nightly\x1fwaiters");
  EXPECT_EQ(keys::of("", "nightly").lock, "nightly") << "what foreign clients use";
}

RC_GTEST_PROP(redis_keys, of_one_name_share_a_slot, ()) {
  const keys k = keys::of(*awkward(0), *awkward(1));
  for (const auto& side : side_keys(k)) RC_ASSERT(slot_of(side) == slot_of(k.lock));
}

RC_GTEST_PROP(redis_keys, tell_which_name_they_are_of, ()) {
  const keys k = keys::of(*awkward(0), *awkward(1));
  for (const auto& side : side_keys(k)) RC_ASSERT(lock_of_side_key(side) == k.lock);
  RC_ASSERT(lock_of_fence(k.fence) == k.lock);
  RC_ASSERT(!lock_of_fence(k.waiters));
  RC_ASSERT(!lock_of_side_key(k.lock));  // no name is taken for another's side key
}

TEST(redis_keys, have_a_hash_tag_for_every_slot) {
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const std::string tag = tag_in(static_cast<std::uint16_t>(slot));
    ASSERT_EQ(slot_of(tag), slot);
    ASSERT_EQ(slot_of("holdfast:client:1f{" + tag + "}"), slot);
    ASSERT_EQ(tag.find_first_not_of("0123456789"), std::string::npos);
    ASSERT_LE(tag.size(), 6U);
  }
}

TEST(redis_keys, of_the_failover_guard_lie_in_the_slot_and_are_no_locks) {
  for (const std::string prefix : {"holdfast:", "", "{jobs}:", "a}b{", "{}", "{7}"}) {
    for (unsigned slot = 0; slot < slot_count; ++slot) {
      const std::string key = guard_key(prefix, static_cast<std::uint16_t>(slot));
      ASSERT_EQ(slot_of(key), slot) << key;
      ASSERT_TRUE(is_side_key(key)) << "no name contains the separator";
      ASSERT_FALSE(lock_of_fence(key)) << key;
    }
  }
  EXPECT_NE(guard_key("a:", 7), guard_key("b:", 7)) << "one for each prefix";
}

TEST(redis_keys, of_two_names_are_never_the_same) {
  std::map<std::string, std::string> owners;
  const std::string letters = "{}a";
  for (int length = 1; length <= 6; ++length) {
    int count = 1;
    for (int i = 0; i < length; ++i) count *= 3;
    for (int n = 0; n < count; ++n) {
      std::string name;
      for (int i = 0, rest = n; i < length; ++i, rest /= 3)
        name += letters[static_cast<std::size_t>(rest % 3)];
      const keys k = keys::of("", name);
      for (const auto& key : {k.lock, k.fence, k.waiters, k.holders}) {
        const auto [place, is_new] = owners.emplace(key, name);
        EXPECT_TRUE(is_new) << key << " is of " << name << " and of " << place->second;
      }
    }
  }
  EXPECT_EQ(owners.size(), 4U * (3 + 9 + 27 + 81 + 243 + 729));
}

TEST(redis_keys, of_other_programs_are_not_taken_for_ours) {
  for (const char* key : {"", "{", "}", "{a}",
                          "\x1f"
                          "fence",
                          "{a\x1f"
                          "fence",
                          "a}\x1f"
                          "fence",
                          "{a}b\x1f"
                          "fence"}) {
    EXPECT_FALSE(lock_of_fence(key)) << key;
  }
}

}  // namespace
}  // namespace holdfast::redis
