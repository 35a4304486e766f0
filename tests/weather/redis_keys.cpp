// Keys where ours should be that others made: reported or waited for, never changed.

#include "support/redis_server.hpp"
#include "weather/weather.hpp"

namespace holdfast::weather {
namespace {

class redis_keys : public testing::Test {
 protected:
  std::string dump(const std::string& key) { return server_.ask({"DUMP", key}); }

  test::redis_server server_;
  client locks_{server_.url(), client_options{}.locks(hasty())};
  shared_mutex lock_{locks_, "stock"};
};

TEST_F(redis_keys, of_another_type_are_reported) {
  const std::string side = "{holdfast:stock}\x1f";
  const std::vector<std::vector<std::string>> intruders{
      {"LPUSH", "holdfast:stock", "theirs"}, {"HSET", "holdfast:stock", "their", "own"},
      {"LPUSH", side + "fence", "theirs"},   {"LPUSH", side + "queue", "theirs"},
      {"SET", side + "claims", "theirs"},    {"SET", side + "expiries", "theirs"}};
  for (const auto& intruder : intruders) {
    server_.ask({"FLUSHALL"});
    server_.ask(intruder);
    const auto before = dump(intruder[1]);
    const auto alone = failure_of([&] { lock_.lock(); });
    const auto shared = failure_of([&] { lock_.lock_shared(); });
    // The keys that only readers and waiters need are not in the way of one who is alone.
    EXPECT_TRUE(alone.code == errc::wrong_type || (!alone.code && intruder[1] != "holdfast:stock"))
        << intruder[1] << ": " << alone.text;
    if (!alone.code) lock_.unlock();
    EXPECT_TRUE(alone.code == errc::wrong_type || shared.code == errc::wrong_type)
        << intruder[1] << ": " << shared.text;
    EXPECT_EQ(dump(intruder[1]), before) << intruder[1];
  }
}

TEST_F(redis_keys, with_a_foreign_value_are_waited_for) {
  for (const std::string value : {"somebody's", "", "0123456789abcdef0123456789abcdef", "\r\n*1\r\n"}) {
    server_.ask({"SET", "holdfast:stock", value});
    EXPECT_FALSE(lock_.try_lock());
    EXPECT_FALSE(lock_.try_lock_for(120ms));
    EXPECT_FALSE(lock_.try_lock_shared());
    EXPECT_EQ(server_.ask({"GET", "holdfast:stock"}), value);
    EXPECT_EQ(server_.ask({"PTTL", "holdfast:stock"}), "-1");
    server_.ask({"DEL", "holdfast:stock"});
    EXPECT_TRUE(lock_.try_lock_for(60s));
    lock_.unlock();
  }
}

TEST_F(redis_keys, that_others_take_from_us_are_lost_and_stay_theirs) {
  auto held = lock_.acquire();
  server_.ask({"SET", "holdfast:stock", "theirs"});
  EXPECT_EQ(held.renew(), renewal::lost);
  EXPECT_EQ(held.release(), errc::lost);
  EXPECT_EQ(server_.ask({"GET", "holdfast:stock"}), "theirs");
}

}  // namespace
}  // namespace holdfast::weather
