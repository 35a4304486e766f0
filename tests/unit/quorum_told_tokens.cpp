// Servers that have accepted another number than a hold's token, or none, are told which it is.

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>

#include "unit/quorum_contender.hpp"
#include "unit/quorum_coordinator.hpp"

namespace holdfast::quorum {
namespace {

using tickets::ballot_step;
using tickets::task;

// A server that has granted a claim late, or lost its hold and got it back, may accept the token no more. Who
// looks would find several numbers, or none.
TEST_F(quorum_contender, tells_its_token_to_servers_that_have_another_number) {
  claim_.annotate(std::make_shared<const std::string>(R"({"host":"web-1"})"));
  ask();
  for (const std::size_t server : {0, 1, 2}) hear(server, granted());
  ASSERT_TRUE(claim_.holds());
  hear(4, granted(number - 3, number - 3));
  hear(3, granted(0, number));
  for (const std::size_t server : {3, 4}) {
    ASSERT_EQ(in_flight_.count(server), 1U) << server;
    EXPECT_EQ(sent(server).kind, tickets::task::annotate);
    EXPECT_EQ(*sent(server).metadata, R"({"token":5000000,"host":"web-1"})");
  }
  for (const std::size_t server : {0, 1, 2}) {
    take(claim_.tell_token(now_, server));
    EXPECT_EQ(in_flight_.count(server), 0U) << "it has accepted the token";
  }
  hear(3, tickets::done{});
  take(claim_.tell_token(now_, 3));
  EXPECT_EQ(in_flight_.count(3), 0U) << "it was told";
  EXPECT_TRUE(hear(4, failed(4)).send.empty()) << "the next renewal is early enough";
  take(claim_.tell_token(now_, 4));
  EXPECT_EQ(in_flight_.count(4), 1U);
}

TEST_F(quorum_contender, tells_its_token_again_where_the_hold_has_begun_anew) {
  claim_.annotate(std::make_shared<const std::string>("{}"));
  ask();
  for (const std::size_t server : {0, 1, 2}) hear(server, granted());
  ASSERT_TRUE(claim_.holds());
  hear(3, granted(0, number, 1));
  hear(3, tickets::done{});
  take(claim_.claim_at_missing(now_, 3));
  EXPECT_EQ(*sent(3).metadata, R"({"token":5000000})");
  hear(3, granted(0, number, 2));
  ASSERT_EQ(in_flight_.count(3), 1U);
  EXPECT_EQ(sent(3).kind, tickets::task::annotate);
  hear(3, tickets::nothing{});
  EXPECT_EQ(in_flight_.count(3), 0U) << "the next renewal claims it";
}

// It may have lost its last writes, and number the grant as before.
TEST_F(quorum_contender, tells_its_token_again_to_a_server_that_has_restarted) {
  claim_.annotate(std::make_shared<const std::string>("{}"));
  ask();
  for (const std::size_t server : {0, 1, 2}) hear(server, granted());
  hear(3, granted(0, number, 1));
  hear(3, tickets::done{});
  for (const std::size_t server : {0, 3}) {
    take(claim_.tell_token(now_, server));
    ASSERT_EQ(in_flight_.count(server), 0U);
    claim_.restarted(server);
    take(claim_.tell_token(now_, server));
    ASSERT_EQ(addressees(ballot_step::none).count(server), 1U) << server;
    hear(server, tickets::done{});
    take(claim_.tell_token(now_, server));
    EXPECT_EQ(in_flight_.count(server), 0U) << "it was told";
  }
}

TEST_F(quorum_contender, tells_its_token_as_a_reader) {
  claim_.annotate(std::make_shared<const std::string>("{}"));
  ask();
  for (const std::size_t server : {0, 1, 2}) hear(server, granted());
  claim_.lower();
  hear(3, granted(0, number));
  ASSERT_EQ(addressees(ballot_step::none), std::set<std::size_t>{3});
  EXPECT_EQ(*sent(3).metadata, R"({"token":5000000})");
}

// A renewal does not show it: the hold may have come back with the files of the server.
TEST_F(quorum_coordinator, tells_the_token_again_with_the_renewal_behind_a_restart) {
  auto r = claim(true);
  r.metadata = std::make_shared<const std::string>("{}");
  const auto got = begin(std::move(r));
  reply({0, 1, 2, 4}, grant());
  ASSERT_TRUE(*got);
  reply(3, of(granted(0, number + 1)));
  ASSERT_EQ(addressees(task::annotate), servers{3});
  reply(3, of(tickets::done{}));
  const auto renew = [&] {
    send(renewal());
    reply(everywhere, kept(true));
  };
  renew();
  EXPECT_EQ(addressees(task::annotate), servers{});
  time_.turn([&] { coordinator_.connected(3); });
  renew();
  EXPECT_EQ(addressees(task::annotate), servers{3});
}

}  // namespace
}  // namespace holdfast::quorum
