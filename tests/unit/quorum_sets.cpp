// SPDX-License-Identifier: Apache-2.0
// Which servers the others' clients name, and what a client of another set is told, on virtual time.

#include <algorithm>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "holdfast/error.hpp"
#include "unit/quorum_coordinator.hpp"

namespace holdfast::quorum {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string own_set = "host0:6379,host1:6379,host2:6379,host3:6379,host4:6379";
const std::string other_set = "host4:6379,host5:6379,host6:6379";

self_description description(std::optional<std::string> set, std::string run = {}) {
  return {std::move(set), true, std::move(run)};
}

// ---- the set

class quorum_set : public testing::Test {
 protected:
  server_set set_{{"b:2", "a:1", "c:3"}};
};

TEST_F(quorum_set, does_not_depend_on_the_order) { EXPECT_EQ(set_.text(), "a:1,b:2,c:3"); }

TEST_F(quorum_set, is_refused_by_one_server_that_keeps_another_one) {
  set_.on_hello(0, description(set_.text()));
  set_.on_hello(1, description("x:1,a:1\n"));
  ASSERT_TRUE(set_.conflict());
  EXPECT_EQ(set_.conflict()->code, errc::foreign_store);
  EXPECT_THAT(set_.conflict()->message,
              AllOf(HasSubstr("a:1: other clients name the servers x:1,a:1?"), HasSubstr("a:1,b:2,c:3")));
  EXPECT_TRUE(set_.conflict_at(1));
  EXPECT_FALSE(set_.conflict_at(0));
}

TEST_F(quorum_set, of_others_is_shown_without_characters_that_hide_something) {
  set_.on_hello(1, description("x:1\u202e\u009b,a:1"));
  ASSERT_TRUE(set_.conflict());
  EXPECT_THAT(set_.conflict()->message, HasSubstr("x:1?????,a:1"));
}

TEST_F(quorum_set, is_written_where_there_is_none_once_the_connection_is_in_use) {
  set_.on_hello(0, description(std::nullopt));
  EXPECT_TRUE(set_.is_unheard());
  EXPECT_THAT(set_.lacking(), IsEmpty());
  set_.connected(0);
  EXPECT_THAT(set_.lacking(), ElementsAre(0));
  set_.join(0);
  EXPECT_TRUE(set_.is_joining());
  set_.on_unreachable(0);
  EXPECT_FALSE(set_.is_joining());
}

TEST_F(quorum_set, is_not_written_where_the_user_may_not_read_it) {
  set_.on_hello(0, {std::nullopt, false, {}});
  set_.connected(0);
  EXPECT_THAT(set_.lacking(), IsEmpty());
  EXPECT_FALSE(set_.conflict());
}

TEST_F(quorum_set, stays_refused_where_a_server_with_another_one_has_forgotten_it) {
  set_.on_hello(0, description("x:1,b:2", "first"));
  set_.on_unreachable(0);
  EXPECT_TRUE(set_.conflict());
  set_.on_hello(0, description(std::nullopt, "second"));
  EXPECT_TRUE(set_.conflict()) << "the clients of the other set will tell it again";
}

TEST_F(quorum_set, is_taken_again_where_the_other_one_was_deleted) {
  set_.on_hello(0, description("x:1,b:2", "first"));
  set_.on_hello(0, description(std::nullopt, "first"));
  EXPECT_FALSE(set_.conflict());
}

TEST_F(quorum_set, shows_where_a_servers_process_may_be_another_one) {
  const auto connect = [&](const std::string& run) {
    set_.on_hello(1, description(set_.text(), run));
    return set_.connected(1);
  };
  EXPECT_TRUE(connect("first"));
  EXPECT_FALSE(connect("first"));
  EXPECT_FALSE(set_.connected(1)) << "the set was written";
  EXPECT_TRUE(connect("second"));
  EXPECT_TRUE(connect("")) << "this user may not know";
  EXPECT_TRUE(connect(""));
}

TEST_F(quorum_set, has_no_server_twice) {
  set_.on_hello(0, description(set_.text(), "same"));
  set_.on_hello(2, description(set_.text(), "same"));
  ASSERT_TRUE(set_.conflict());
  EXPECT_EQ(set_.conflict()->code, errc::invalid_argument);
  EXPECT_THAT(set_.conflict()->message, HasSubstr("b:2 and c:3 are the same server"));
  set_.on_unreachable(0);
  EXPECT_FALSE(set_.conflict()) << "the address may have moved";
  set_.on_hello(0, description(set_.text(), "another"));
  EXPECT_FALSE(set_.conflict());
}

TEST_F(quorum_set, is_written_again_where_that_failed_a_few_times_on_each_connection) {
  for (const std::size_t other : {1, 2}) set_.on_hello(other, description(set_.text()));
  for (int connections = 0; connections < 2; ++connections) {
    set_.on_hello(0, description(std::nullopt));
    set_.connected(0);
    int tries = 0;
    do {
      set_.lacks_again(0);
      ASSERT_THAT(set_.lacking(), ElementsAre(0));
      set_.join(0);
      ++tries;
    } while (set_.failed(0));
    EXPECT_EQ(tries, 4);
    EXPECT_THAT(set_.lacking(), IsEmpty());
    EXPECT_FALSE(set_.is_joining() || set_.is_unheard()) << "nobody waits for it";
  }
}

TEST_F(quorum_set, is_taken_back_where_it_was_written_once) {
  set_.on_hello(1, description(set_.text()));
  set_.wrote(1);
  EXPECT_THAT(set_.take_written(), ElementsAre(1));
  EXPECT_THAT(set_.take_written(), IsEmpty());
  set_.connected(1);
  EXPECT_THAT(set_.lacking(), ElementsAre(1)) << "it is told again if the client is refused no more";
}

// ---- the client

/// A client of five servers that keep their clients' set. The test says what they say of it.
class quorum_client_of_a_set : public quorum_coordinator {
 protected:
  quorum_client_of_a_set() : quorum_coordinator{true} {}

  void meet(std::size_t server, const self_description& said) {
    time_.turn([&] {
      if (!coordinator_.on_hello(server, said)) coordinator_.connected(server);
    });
  }
  void meet(const servers& of, const self_description& said) {
    for (const std::size_t each : of) meet(each, said);
  }
  void answer_join(std::size_t server, const std::optional<std::string>& kept, bool wrote) {
    time_.turn([&] { coordinator_.joined(server, description(kept), wrote); });
  }
  void refuse_to_join(std::size_t server) {
    time_.turn([&] { coordinator_.not_joined(server); });
  }
  void lose(std::size_t server) {
    time_.turn([&] { coordinator_.on_unreachable(server); });
  }
  /// A claim of a client whose servers have said what they keep, and the time.
  answer claim_of_a_newcomer(const std::optional<std::string>& kept) {
    meet(everywhere, description(kept));
    const auto got = send(claim(true));
    reply(everywhere, of(refused("")));
    return got;
  }
  /// A server that has forgotten the set comes back.
  void come_back_without_set(std::size_t server) {
    lose(server);
    meet(server, description(std::nullopt, "restarted"));
    EXPECT_EQ(joining_, servers{server});
  }
  [[nodiscard]] bool claims_anything() const {
    for (const auto& each : in_flight_)
      if (std::any_of(each.begin(), each.end(),
                      [](const sent& s) { return form_of(s.request).token != fencing_token{}; }))
        return true;
    return false;
  }
  static void expect_foreign(const answer& got) {
    ASSERT_NE(error_in(got), nullptr);
    EXPECT_EQ(error_in(got)->reason.code, errc::foreign_store);
    EXPECT_FALSE(error_in(got)->maybe_executed);
    EXPECT_THAT(error_in(got)->reason.message, AllOf(HasSubstr(own_set), HasSubstr(other_set)));
  }
  /// A client that all servers know.
  answer hold() {
    meet(everywhere, description(own_set));
    const auto got = send(claim(true));
    reply(everywhere, of(refused("")));
    reply(everywhere, grant());
    EXPECT_NE(in<tickets::place>(got), nullptr);
    return got;
  }
};

TEST_F(quorum_client_of_a_set, claims_at_once_where_all_keep_its_set) {
  meet(everywhere, description(own_set));
  const auto got = send(claim(true));
  reply({0, 1, 2}, of(refused("")));
  EXPECT_TRUE(claims_anything());
  EXPECT_EQ(joining_, servers{});
}

TEST_F(quorum_client_of_a_set, writes_it_before_its_first_claim_and_not_before_it_is_asked_to_claim) {
  meet(everywhere, description(std::nullopt));
  EXPECT_EQ(joining_, servers{});
  const auto got = send(claim(true));
  reply(everywhere, of(refused("")));
  EXPECT_EQ(joining_, everywhere);
  EXPECT_FALSE(claims_anything());
  for (const std::size_t each : everywhere) answer_join(each, own_set, each != 3);
  EXPECT_TRUE(claims_anything());
  EXPECT_EQ(left_, servers{});
}

TEST_F(quorum_client_of_a_set, writes_and_claims_nothing_where_one_server_keeps_another_one) {
  meet({0, 1, 2, 3}, description(std::nullopt));
  const auto got = send(claim(true));
  reply({0, 1, 2, 3}, of(refused("")));
  EXPECT_FALSE(*got) << "the last server may have something to say";
  meet(4, description(other_set));
  expect_foreign(got);
  const auto again = send(claim(true, 2));
  expect_foreign(again);
  EXPECT_EQ(joining_, servers{});
  EXPECT_FALSE(claims_anything());
}

TEST_F(quorum_client_of_a_set, waits_a_fraction_of_the_silence_for_a_silent_server) {
  meet({0, 1, 2}, description(std::nullopt));
  const auto got = send(claim(true));
  lose(3);
  reply({0, 1, 2}, of(refused("")));
  time_.run_for(silence / 10);
  EXPECT_EQ(joining_, (servers{0, 1, 2}));
  answer_join(0, own_set, true);
  answer_join(1, own_set, true);
  EXPECT_FALSE(claims_anything()) << "server 2 is still asked";
  time_.run_for(silence / 10);
  EXPECT_TRUE(claims_anything());
}

TEST_F(quorum_client_of_a_set, takes_back_what_it_wrote_where_a_client_of_another_set_was_first) {
  const auto got = claim_of_a_newcomer(std::nullopt);
  answer_join(0, own_set, true);
  answer_join(1, own_set, false);  // by another client of the same set
  answer_join(4, other_set, false);
  expect_foreign(got);
  EXPECT_EQ(left_, servers{0});
  answer_join(2, own_set, true);
  EXPECT_EQ(left_, (servers{0, 2})) << "an answer that comes late";
  EXPECT_FALSE(claims_anything());
}

TEST_F(quorum_client_of_a_set, asks_a_server_that_keeps_nothing_once) {
  const auto got = claim_of_a_newcomer(std::nullopt);
  for (const std::size_t each : everywhere)
    answer_join(each, each == 2 ? std::nullopt : std::optional{own_set}, false);
  EXPECT_TRUE(claims_anything());
}

TEST_F(quorum_client_of_a_set, keeps_its_hold_and_its_set_when_a_conflict_comes_later) {
  hold();
  for (auto& each : in_flight_) each.clear();
  meet(2, description(other_set));
  EXPECT_EQ(left_, servers{});
  const auto renewed = send(renewal());
  reply({0, 1, 3}, kept(true));
  ASSERT_NE(in<tickets::kept>(renewed), nullptr);
  EXPECT_TRUE(in<tickets::kept>(renewed)->each.front());
  expect_foreign(send(claim(true, 2)));
}

TEST_F(quorum_client_of_a_set, ends_a_claim_that_waits_when_a_conflict_comes_later) {
  const auto got = claim_of_a_newcomer(own_set);
  meet(2, description(other_set));
  expect_foreign(got);
  EXPECT_EQ(addressees(task::retract), everywhere) << "a minority may have granted it";
}

TEST_F(quorum_client_of_a_set, tells_a_server_that_has_forgotten_it) {
  hold();
  come_back_without_set(1);
  answer_join(1, own_set, true);
  EXPECT_EQ(left_, servers{});
}

// A renewal does not show a restart: the hold may have come back with the files of the server.
TEST_F(quorum_client_of_a_set, tells_its_token_again_to_a_server_whose_process_is_another_one) {
  meet({0, 1, 2, 4}, description(own_set));
  meet(3, description(own_set, "first"));
  auto r = claim(true);
  r.metadata = std::make_shared<const std::string>("{}");
  const auto got = send(std::move(r));
  reply(everywhere, of(refused("")));
  reply({0, 1, 2, 4}, grant());
  ASSERT_TRUE(*got);
  reply(3, of(granted(0, number + 1)));
  ASSERT_EQ(addressees(task::annotate), servers{3});
  reply(3, of(tickets::done{}));
  const auto connect_and_renew = [&](const std::string& run) {
    lose(3);
    meet(3, description(own_set, run));
    send(renewal());
    reply(everywhere, kept(true));
  };
  connect_and_renew("first");
  EXPECT_EQ(addressees(task::annotate), servers{}) << "it is the same process";
  connect_and_renew("second");
  EXPECT_EQ(addressees(task::annotate), servers{3});
}

// The write on the former connection fails when the next one has been heard, and is not in use yet.
TEST_F(quorum_client_of_a_set, tells_a_server_whose_former_connection_broke_during_the_write) {
  hold();
  come_back_without_set(1);
  joining_.clear();
  time_.turn([&] { EXPECT_FALSE(coordinator_.on_hello(1, description(std::nullopt, "restarted"))); });
  refuse_to_join(1);
  time_.turn([&] { coordinator_.connected(1); });
  EXPECT_EQ(joining_, servers{1});
}

TEST_F(quorum_client_of_a_set, tells_a_server_again_that_has_refused_to_write_it) {
  hold();
  come_back_without_set(1);
  for (int tries = 1; tries < 4; ++tries) {
    EXPECT_EQ(joining_, servers{1}) << tries;
    joining_.clear();
    refuse_to_join(1);
    EXPECT_EQ(joining_, servers{}) << "not at once";
    time_.run_for(1s);
  }
  EXPECT_EQ(joining_, servers{1});
  joining_.clear();
  refuse_to_join(1);
  time_.run_for(10s);
  EXPECT_EQ(joining_, servers{}) << "until the next connection";
}

TEST_F(quorum_client_of_a_set, does_not_wait_for_a_server_that_has_refused_to_write_it) {
  const auto got = claim_of_a_newcomer(std::nullopt);
  for (const std::size_t each : {0, 1, 2, 3}) answer_join(each, own_set, true);
  EXPECT_FALSE(claims_anything());
  refuse_to_join(4);
  EXPECT_TRUE(claims_anything());
}

TEST_F(quorum_client_of_a_set, claims_again_when_the_conflict_is_gone) {
  meet({0, 1, 2, 3}, description(own_set));
  meet(4, description(other_set));
  expect_foreign(send(claim(true)));
  meet(4, description(own_set));
  const auto got = send(claim(true));
  reply(everywhere, of(refused("")));
  EXPECT_TRUE(claims_anything());
}

TEST_F(quorum_client_of_a_set, hears_nothing_after_its_end) {
  time_.turn([&] { coordinator_.stop(); });
  meet(everywhere, description(other_set));
  answer_join(1, other_set, true);
  EXPECT_EQ(left_, servers{});
}

}  // namespace
}  // namespace holdfast::quorum
