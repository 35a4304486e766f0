// SPDX-License-Identifier: Apache-2.0
// What is made of the answer to the guard's question, and what requests become while nothing is granted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stop_token>
#include <thread>

#include "stores/redis/protocol/failover_guard.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "support/request_form.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

const store::time_point now{1h};

std::vector<std::string> arguments_in(std::string_view bytes) { return commands_in(bytes).at(0); }

TEST(redis_failover_guard, asks_with_the_marker_of_its_prefix) {
  dialect in;
  in.guard = 45s;
  in.former_primary = 3s;
  for (const bool in_full : {true, false}) {
    std::string bytes;
    failover_guard{}.append_question(bytes, in, in_full, guard_marker{});
    const auto arguments = arguments_in(bytes);
    ASSERT_EQ(arguments.size(), 7U);
    EXPECT_EQ(arguments[0], in_full ? "EVAL" : "EVALSHA");
    EXPECT_EQ(arguments[3], guard_key("holdfast:"));
    EXPECT_EQ(arguments[4], "48000") << "longer by the time in which a former primary goes on";
    EXPECT_EQ(arguments[5], "3000");
    EXPECT_EQ(arguments[6], "") << "the server's settings were not read";
  }
}

TEST(redis_failover_guard, says_what_the_settings_of_the_server_are) {
  const auto said = [](kept_writes writes) {
    std::string bytes;
    failover_guard{}.append_question(bytes, dialect{}, true, guard_marker{}, writes);
    return arguments_in(bytes).at(6);
  };
  EXPECT_EQ(said(kept_writes::yes), "kept");
  EXPECT_EQ(said(kept_writes::no), "loose");
  EXPECT_EQ(said(kept_writes::unknown), "");
}

TEST(redis_failover_guard, reads_whether_each_write_is_on_the_disk_before_its_reply) {
  const auto read = [](const std::string& only, const std::string& sync, const std::string& on_rewrite) {
    return kept_writes_in(list({text("no-appendfsync-on-rewrite"), text(on_rewrite), text("appendfsync"),
                                text(sync), text("appendonly"), text(only)}));
  };
  EXPECT_EQ(read("yes", "always", "no"), kept_writes::yes);
  EXPECT_EQ(read("no", "always", "no"), kept_writes::no);
  EXPECT_EQ(read("yes", "everysec", "no"), kept_writes::no);
  EXPECT_EQ(read("yes", "always", "yes"), kept_writes::no);
  EXPECT_EQ(kept_writes_in(list({})), kept_writes::no);
  EXPECT_EQ(kept_writes_in(list({text("appendonly")})), kept_writes::no);
  EXPECT_EQ(kept_writes_in(error_of("NOPERM")), kept_writes::unknown);
}

TEST(redis_failover_guard, has_a_marker_that_is_no_key_of_a_lock) {
  EXPECT_EQ(guard_key("holdfast:"),
            "{holdfast:}\x1f"
            "guard");
  EXPECT_FALSE(lock_of_fence(guard_key("holdfast:")));
  EXPECT_TRUE(lock_of_side_key(guard_key("holdfast:")));
  EXPECT_NE(guard_key("a}b"), keys::of("a}b", "x").fence);
}

TEST(redis_failover_guard, lasts_as_long_as_the_server_says_and_says_why) {
  failover_guard guard;
  EXPECT_FALSE(guard.pause_at(now));
  constexpr std::int64_t ends = 1'800'000'000'000;
  EXPECT_FALSE(guard.hear(
      list({number(18'000), number(12'000), text("changed"), number(30'000), text("aa"), number(ends)}),
      dialect{}, now));
  const auto pause = guard.pause_at(now);
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->left, 18s);
  EXPECT_EQ(pause->ends.count(), ends) << "tokens are drawn above that";
  EXPECT_EQ(pause->reason.code, errc::unavailable);
  EXPECT_THAT(pause->reason.message,
              AllOf(HasSubstr("12 s ago"), HasSubstr("18 s more"), HasSubstr("failover_guard")));
  EXPECT_THAT(guard.pause_at(now + 10s)->reason.message, AllOf(HasSubstr("22 s ago"), HasSubstr("8 s more")));
  EXPECT_TRUE(guard.pause_at(now + 18s - 1ms));
  EXPECT_FALSE(guard.pause_at(now + 18s));
}

TEST(redis_failover_guard, says_that_another_client_has_asked_for_a_longer_one) {
  failover_guard guard;
  const auto say = [&](std::int64_t longest) {
    EXPECT_FALSE(
        guard.hear(list({number(18'000), number(0), text("changed"), number(longest)}), dialect{}, now));
    return guard.pause_at(now)->reason.message;
  };
  EXPECT_THAT(say(30'000), testing::EndsWith("(failover_guard)"));
  EXPECT_THAT(say(90'000'000),
              AllOf(HasSubstr("failover_guard of 90000 s, which another client has asked for"),
                    HasSubstr("this one asks for 30 s"), HasSubstr("redis-cli DEL")));
}

TEST(redis_failover_guard, is_over_where_the_server_says_so) {
  failover_guard guard;
  EXPECT_FALSE(guard.hear(list({number(18'000), number(0), text("started")}), dialect{}, now));
  EXPECT_FALSE(guard.hear(list({number(0)}), dialect{}, now));
  EXPECT_FALSE(guard.pause_at(now));
}

TEST(redis_failover_guard, has_clients_try_again_while_a_former_primary_may_go_on) {
  failover_guard guard;
  const value reply = error_of("MASTERDOWN Holdfast: a former primary may still take writes.");
  const auto refusal = guard.hear(reply, dialect{}, now);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason.code, errc::unavailable);
  EXPECT_TRUE(refusal->retryable);
}

TEST(redis_failover_guard, takes_no_other_answer) {
  failover_guard guard;
  EXPECT_EQ(guard.hear(list({}), dialect{}, now)->reason.code, errc::corrupt_store);
  EXPECT_EQ(guard.hear(text("0"), dialect{}, now)->reason.code, errc::corrupt_store);
  const auto refused = guard.hear(error_of("NOPERM no"), dialect{}, now);
  EXPECT_EQ(refused->reason.code, errc::permission_denied);
  EXPECT_THAT(refused->reason.message, AllOf(HasSubstr("+info"), HasSubstr("failover_guard=0")));
  const auto wrong = guard.hear(error_of("WRONGTYPE no"), dialect{}, now);
  EXPECT_THAT(wrong->reason.message, HasSubstr(guard_key("holdfast:")));
  EXPECT_FALSE(
      guard.hear(list({number(std::numeric_limits<std::int64_t>::max()), text("x")}), dialect{}, now));
  EXPECT_TRUE(guard.pause_at(now)) << "and no time overflows";
}

// ---- in a cluster

class redis_guard_marker : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> question(const failover_guard& guard) const {
    std::string bytes;
    guard.append_question(bytes, in_, false, marker_);
    return arguments_in(bytes);
  }
  /// The server's answer, with what its marker says.
  static void hear(failover_guard& guard, std::string marker) {
    EXPECT_FALSE(guard.hear(
        list({number(0), number(0), text("none"), number(30'000), text(std::move(marker))}), dialect{}, now));
  }

  dialect in_;
  guard_marker marker_;
};

TEST_F(redis_guard_marker, is_one_key_of_a_server_outside_of_a_cluster) {
  EXPECT_TRUE(marker_.is_known());
  EXPECT_FALSE(marker_.is_in_slot());
  EXPECT_EQ(marker_.key("holdfast:"), guard_key("holdfast:"));
}

TEST_F(redis_guard_marker, lies_in_a_slot_that_the_server_has) {
  marker_.move_to(12182);
  EXPECT_TRUE(marker_.is_known() && marker_.is_in_slot());
  EXPECT_EQ(marker_.key("holdfast:"), guard_key("holdfast:", 12182));
  marker_.move_to(0);
  EXPECT_TRUE(marker_.is_known() && marker_.is_in_slot());
  EXPECT_EQ(slot_of(marker_.key("holdfast:")), 0);
  marker_.move_to(std::nullopt);
  EXPECT_FALSE(marker_.is_known() || marker_.is_in_slot()) << "the server has no slot";
}

TEST_F(redis_guard_marker, is_asked_for_with_a_copy_of_what_it_said) {
  marker_.move_to(7);
  failover_guard guard;
  EXPECT_EQ(question(guard).size(), 8U);
  EXPECT_EQ(question(guard)[3], guard_key("holdfast:", 7));
  EXPECT_EQ(question(guard)[7], "") << "nothing is known yet";
  hear(guard, "aa bb 30000 0 none");
  EXPECT_EQ(question(guard)[7], "aa bb 30000 0 none");
  hear(guard, "aa cc 30000 5 changed");
  EXPECT_EQ(question(guard)[7], "aa cc 30000 5 changed");
  marker_.move_to(8);
  EXPECT_EQ(question(guard)[3], guard_key("holdfast:", 8));
  EXPECT_EQ(question(guard)[7], "aa cc 30000 5 changed") << "it goes with the marker";
}

// Then the server would take the next request for a part of the question.
TEST_F(redis_guard_marker, may_move_while_it_is_asked_for) {
  const std::jthread moves{[this](const std::stop_token& until) {
    while (!until.stop_requested()) {
      marker_.move_to(7);
      marker_.move_to(std::nullopt);
    }
  }};
  const failover_guard guard;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes;
    guard.append_question(bytes, in_, false, marker_);
    parser p;
    p.feed(bytes);
    ASSERT_TRUE(p.next()) << "a part is missing";
    ASSERT_FALSE(p.is_in_message());
  }
}

TEST_F(redis_guard_marker, is_known_on_the_next_connection) {
  marker_.move_to(7);
  failover_guard former;
  hear(former, "aa bb 30000 0 none");
  EXPECT_EQ(question(failover_guard{former.marker()})[7], "aa bb 30000 0 none");
}

TEST_F(redis_guard_marker, sends_no_copy_outside_of_a_cluster) {
  failover_guard guard;
  hear(guard, "aa bb 30000 0 none");
  EXPECT_EQ(question(guard).size(), 7U);
}

TEST_F(redis_guard_marker, is_copied_to_a_length_alone_that_a_marker_may_have) {
  failover_guard guard;
  hear(guard, std::string(200, 'a'));
  EXPECT_EQ(guard.marker().size(), 200U);
  hear(guard, std::string(201, 'b'));
  EXPECT_EQ(guard.marker(), std::string(200, 'a'));
  // A reply without a marker changes nothing.
  EXPECT_FALSE(guard.hear(list({number(0)}), in_, now));
  EXPECT_EQ(guard.marker(), std::string(200, 'a'));
  EXPECT_TRUE(guard.hear(error_of("MOVED 7 10.0.0.2:7002"), in_, now));
  EXPECT_EQ(guard.marker(), std::string(200, 'a')) << "an error says nothing of it";
}

class redis_pause : public testing::Test {
 protected:
  static tickets::request request_for(test::task task) {
    test::request_form r;
    r.kind = task;
    r.name = "stock";
    r.weight = r.capacity = store::full_capacity;
    r.ttl = 30s;
    return r;
  }
  /// The last argument of its command while nothing is granted.
  [[nodiscard]] std::string last_argument(test::task task) const {
    request_fsm talk{request_for(task), in_, owner_id{}};
    std::string bytes;
    static_cast<void>(talk.say(bytes, pause_));
    return arguments_in(bytes).back();
  }
  /// The reply of a request to what its script returns.
  template <class Reply>
  Reply reply_to(test::task task, value returned) {
    request_fsm talk{request_for(task), in_, owner_id{}};
    std::string bytes;
    static_cast<void>(talk.say(bytes, pause_));
    std::vector<value> replies;
    replies.push_back(std::move(returned));
    return std::get<Reply>(std::get<tickets::reply>(talk.hear(std::move(replies)).value()));
  }

  dialect in_;
  failover_guard::pause pause_{{errc::unavailable, "it may have forgotten"}, 18s, 30000ms};
};

TEST_F(redis_pause, goes_with_every_request_that_could_grant) {
  using enum test::task;
  for (const auto task : {acquire, find, look, release, withdraw, downgrade, force_release}) {
    EXPECT_EQ(last_argument(task), "paused 30000") << static_cast<int>(task);
  }
  EXPECT_NE(last_argument(renew), "paused 30000");
  EXPECT_NE(last_argument(inspect), "paused 30000");
}

TEST_F(redis_pause, is_told_to_whoever_does_not_wait) {
  EXPECT_EQ(reply_to<tickets::paused>(test::task::acquire, list({number(4)})).reason.message,
            pause_.reason.message);
  EXPECT_NO_THROW(static_cast<void>(reply_to<tickets::refused>(test::task::acquire, list({number(2)}))))
      << "somebody holds who is known";
}

TEST_F(redis_pause, is_the_time_until_who_waits_looks_again) {
  const auto place = reply_to<tickets::place>(
      test::task::acquire, list({number(0), text("00000000000000000007"), number(1), number(-1), number(0)}));
  EXPECT_EQ(place.holder_left, 18s);
  ASSERT_TRUE(place.pause);
  EXPECT_EQ(place.pause->message, pause_.reason.message);
}

TEST_F(redis_pause, changes_nothing_for_a_holder_that_is_known) {
  const auto place = reply_to<tickets::place>(
      test::task::look, list({number(1), text("00000000000000000007"), number(0), number(-1), number(0)}));
  EXPECT_TRUE(place.granted);
  EXPECT_FALSE(place.pause);
}

}  // namespace
}  // namespace holdfast::redis
