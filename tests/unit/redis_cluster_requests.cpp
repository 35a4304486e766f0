// SPDX-License-Identifier: Apache-2.0
// Requests to a server of a cluster: where they are redirected to, and how a claim that waits hears of its
// grant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/listing.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_answers.hpp"
#include "support/request_form.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using outcome = request_fsm::outcome;

const std::string token = "00000000000000000007";

/// What a script says of a claim that waits.
value place_in_queue() { return list({number(0), text(token), number(1), number(12'000), number(0)}); }
value moved(std::uint16_t slot) { return error_of("MOVED " + std::to_string(slot) + " 10.0.0.2:7002"); }

class redis_cluster_request : public testing::Test {
 protected:
  using commands = std::vector<std::vector<std::string>>;

  [[nodiscard]] request_fsm begin(test::task task) const {
    test::request_form r;
    r.kind = task;
    r.name = "stock";
    r.owner = owner_;
    r.weight = r.capacity = store::full_capacity;
    r.ttl = 30s;
    r.wait = true;
    return {std::move(r), in_, client_};
  }
  /// The commands that are said now, with their arguments.
  commands said(request_fsm& talk, shard_channels* channels) {
    std::string bytes;
    const std::size_t due = talk.say(bytes, std::nullopt, channels);
    commands all = commands_in(bytes);
    EXPECT_EQ(all.size(), due);
    return all;
  }
  commands said(request_fsm& talk) { return said(talk, &channels_); }
  [[nodiscard]] value subscribed() const { return push({text("ssubscribe"), text(channel()), number(1)}); }
  [[nodiscard]] std::string channel() const {
    return "holdfast:client:" + client_.hex() + "{" + tag_in(slot_) + "}";
  }
  static const tickets::place& place_in(const std::optional<outcome>& o) {
    return std::get<tickets::place>(std::get<tickets::reply>(o.value()));
  }
  static const store::request_error& error_in(const std::optional<outcome>& o) {
    return std::get<store::request_error>(o.value());
  }
  /// A claim that has a place in the queue, and looks at it.
  [[nodiscard]] request_fsm look_after_place() {
    request_fsm talk = begin(test::task::acquire);
    said(talk);
    EXPECT_FALSE(talk.hear({place_in_queue()}));
    EXPECT_EQ(said(talk).size(), 2U);
    return talk;
  }

  dialect in_;
  const owner_id client_ = owner_id::random();
  const owner_id owner_ = owner_id::random();
  const std::uint16_t slot_ = slot_of("holdfast:stock");
  shard_channels channels_;
};

// ---- the channel of a slot

TEST_F(redis_cluster_request, that_is_granted_at_once_needs_no_channel) {
  request_fsm talk = begin(test::task::acquire);
  const auto commands = said(talk);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0][0], "EVALSHA");
  EXPECT_TRUE(place_in(talk.hear({text(token)})).granted);
  EXPECT_FALSE(channels_.has(slot_));
}

TEST_F(redis_cluster_request, that_has_to_wait_listens_and_then_looks) {
  request_fsm talk = begin(test::task::acquire);
  said(talk);
  EXPECT_FALSE(talk.hear({place_in_queue()}));
  const auto commands = said(talk);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_THAT(commands[0], ElementsAre("SSUBSCRIBE", channel()));
  EXPECT_EQ(slot_of(channel()), slot_);
  EXPECT_EQ(commands[1][0], "EVALSHA");
  const keys k = keys::of(in_.prefix, "stock");
  EXPECT_THAT(
      std::vector(commands[1].begin() + 2, commands[1].end()),
      ElementsAre("4", k.lock, k.fence, k.waiters, k.holders, owner_.hex(), token, "30000", "3600000"));
  EXPECT_TRUE(channels_.has(slot_));
  const auto o = talk.hear({subscribed(), place_in_queue()});
  EXPECT_FALSE(place_in(o).granted);
  EXPECT_EQ(place_in(o).holder_left, 12s);
  EXPECT_TRUE(channels_.has(slot_));
}

TEST_F(redis_cluster_request, may_find_its_grant_when_it_has_begun_to_listen) {
  request_fsm talk = look_after_place();
  EXPECT_TRUE(place_in(talk.hear({subscribed(), text(token)})).granted);
}

TEST_F(redis_cluster_request, that_finds_its_claim_waiting_listens_and_looks) {
  request_fsm talk = begin(test::task::find);
  said(talk);
  EXPECT_FALSE(talk.hear({place_in_queue()}));
  const auto commands = said(talk);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_THAT(commands[0], ElementsAre("SSUBSCRIBE", channel()));
}

TEST_F(redis_cluster_request, that_listens_already_does_not_ask_for_it_again) {
  channels_.add(slot_);
  request_fsm talk = begin(test::task::acquire);
  said(talk);
  EXPECT_FALSE(place_in(talk.hear({place_in_queue()})).granted) << "in the slot of another claim that waits";
  request_fsm look = begin(test::task::look);
  EXPECT_EQ(said(look).size(), 1U);
  EXPECT_FALSE(place_in(look.hear({place_in_queue()})).granted);
}

TEST_F(redis_cluster_request, to_look_listens_first_on_a_new_connection) {
  request_fsm look = begin(test::task::look);
  const auto commands = said(look);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_THAT(commands[0], ElementsAre("SSUBSCRIBE", channel()));
  EXPECT_EQ(commands[1][0], "EVALSHA");
  EXPECT_FALSE(place_in(look.hear({subscribed(), place_in_queue()})).granted);
}

TEST_F(redis_cluster_request, listens_once_where_the_script_is_not_known) {
  request_fsm look = begin(test::task::look);
  said(look);
  EXPECT_FALSE(look.hear({subscribed(), error_of("NOSCRIPT No matching script")}));
  const auto commands = said(look);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0][0], "EVAL");
}

TEST_F(redis_cluster_request, waits_all_the_same_where_it_may_not_listen) {
  request_fsm talk = look_after_place();
  const auto o =
      talk.hear({error_of("NOPERM this user has no permissions to access the channel"), place_in_queue()});
  EXPECT_FALSE(place_in(o).granted);
  EXPECT_FALSE(channels_.has(slot_)) << "the next look tries again";
}

TEST_F(redis_cluster_request, to_look_tries_once_more_where_it_may_not_listen) {
  request_fsm look = begin(test::task::look);
  said(look);
  EXPECT_FALSE(look.hear({error_of("NOPERM"), place_in_queue()}));
  EXPECT_EQ(said(look).size(), 2U);
  EXPECT_FALSE(place_in(look.hear({error_of("NOPERM"), place_in_queue()})).granted);
}

TEST_F(redis_cluster_request, whose_claim_is_gone_when_it_looks_has_to_ask_the_store) {
  request_fsm talk = look_after_place();
  const auto o = talk.hear({subscribed(), value{}});
  EXPECT_EQ(error_in(o).reason.code, errc::unavailable);
  EXPECT_TRUE(error_in(o).retryable && error_in(o).maybe_executed);
}

// The claim is in the queue: it is not made a second time elsewhere.
TEST_F(redis_cluster_request, is_not_sent_on_after_it_was_queued) {
  for (const std::string& error : {"MOVED " + std::to_string(slot_) + " 10.0.0.2:7002",
                                   "ASK " + std::to_string(slot_) + " 10.0.0.2:7002",
                                   std::string{"TRYAGAIN no"}, std::string{"CLUSTERDOWN no"}}) {
    channels_.remove(slot_);
    request_fsm talk = look_after_place();
    const auto o = talk.hear({error_of(error), error_of(error)});
    EXPECT_TRUE(error_in(o).maybe_executed && error_in(o).retryable) << error;
    EXPECT_FALSE(talk.redirection()) << error;
    EXPECT_FALSE(channels_.has(slot_));
  }
}

TEST_F(redis_cluster_request, says_in_its_claim_where_its_client_listens) {
  request_fsm talk = begin(test::task::acquire);
  const std::string claim = said(talk)[0][11];
  EXPECT_THAT(claim, StartsWith(client_.hex() + "{" + tag_in(slot_) + "} "));
  EXPECT_EQ("holdfast:client:" + claim.substr(0, claim.find(' ')), channel()) << "where a grant is published";
}

// A server that was named by ASK does not have the slot, and no channel of it.
TEST_F(redis_cluster_request, needs_no_channel_where_there_are_none) {
  request_fsm talk = begin(test::task::acquire);
  const auto commands = said(talk, nullptr);
  EXPECT_THAT(commands[0][11], StartsWith(client_.hex() + " "));
  EXPECT_FALSE(place_in(talk.hear({place_in_queue()})).granted);
  request_fsm look = begin(test::task::look);
  EXPECT_EQ(said(look, nullptr).size(), 1U);
  EXPECT_FALSE(place_in(look.hear({place_in_queue()})).granted);
}

TEST_F(redis_cluster_request, asks_replicas_about_a_grant_that_it_finds_when_it_listens) {
  in_.replicas = 1;
  request_fsm talk = look_after_place();
  EXPECT_FALSE(talk.hear({subscribed(), text(token)}));
  EXPECT_EQ(said(talk)[0][0], "WAIT");
  EXPECT_TRUE(place_in(talk.hear({number(1)})).granted);
}

TEST(redis_shard_channels, are_one_for_each_slot) {
  shard_channels channels;
  for (const std::uint16_t slot : {0, 63, 64, 16383}) {
    EXPECT_FALSE(channels.has(slot));
    channels.add(slot);
  }
  channels.remove(63);
  EXPECT_TRUE(channels.has(0) && channels.has(64) && channels.has(16383));
  EXPECT_FALSE(channels.has(63) || channels.has(1) || channels.has(16382));
}

// ---- redirections

TEST_F(redis_cluster_request, tells_where_to_ask_instead) {
  request_fsm talk = begin(test::task::release);
  said(talk);
  const auto o = talk.hear({moved(slot_)});
  ASSERT_TRUE(talk.redirection());
  EXPECT_TRUE(talk.redirection()->for_good);
  EXPECT_EQ(talk.redirection()->slot, slot_);
  EXPECT_EQ(talk.redirection()->to.place(), "10.0.0.2:7002");
  EXPECT_EQ(error_in(o).reason.code, errc::unavailable) << "for whoever does not follow it";
  EXPECT_TRUE(error_in(o).retryable);
  EXPECT_FALSE(error_in(o).maybe_executed);
  EXPECT_EQ(test::form_of(talk.take_request()).name, "stock");
}

TEST_F(redis_cluster_request, is_not_redirected_by_other_errors) {
  for (const char* error :
       {"MOVED", "MOVED 1 :x", "TRYAGAIN Multiple keys request", "CLUSTERDOWN Hash slot not served"}) {
    request_fsm talk = begin(test::task::release);
    said(talk);
    const auto o = talk.hear({error_of(error)});
    EXPECT_FALSE(talk.redirection()) << error;
    EXPECT_FALSE(error_in(o).maybe_executed) << error;
  }
}

// What a script has written until then stays.
TEST_F(redis_cluster_request, whose_script_lost_a_key_on_the_way_may_have_been_carried_out) {
  for (const char* error :
       {"ERR Script attempted to access a non local key in a cluster node script: 1f, on @user_script:3.",
        "ERR Error running script (call to f_1): @user_script: 3: Script attempted to access a non local key "
        "in a cluster node",
        "ERR Script attempted to access keys that do not hash to the same slot"}) {
    request_fsm talk = begin(test::task::acquire);
    said(talk);
    const auto o = talk.hear({error_of(error)});
    EXPECT_TRUE(error_in(o).maybe_executed && error_in(o).retryable) << error;
    EXPECT_EQ(error_in(o).reason.code, errc::unavailable);
    EXPECT_FALSE(talk.redirection());
  }
}

TEST_F(redis_cluster_request, may_be_tried_again_while_slots_move) {
  for (const char* code : {"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"}) {
    const auto t = request_error_of(std::string{code} + " x");
    EXPECT_TRUE(t.retryable) << code;
    EXPECT_FALSE(t.maybe_executed) << code;
  }
}

// ---- listings

TEST_F(redis_cluster_request, to_list_remembers_names_that_have_moved) {
  listing names;
  const dialect& in = in_;
  EXPECT_TRUE(names.hear_scan(
      list({text("0"), list({text("holdfast:a"), text("holdfast:b"), text("holdfast:c")})}), in));
  const value none = list({text(""), number(0)});
  const value foreign =
      list({text("1000"), {}, text("someone"), number(500), none, none, number(0), number(0)});
  EXPECT_FALSE(names.hear_details({moved(1), foreign, error_of("ASK 2 10.0.0.2:7002")}, in, false));
  EXPECT_THAT(names.moved, ElementsAre("holdfast:a", "holdfast:c"));
  ASSERT_EQ(names.summaries.size(), 1U);
  EXPECT_EQ(names.summaries[0].name, "b");
  EXPECT_THAT(names.found, IsEmpty());
}

TEST_F(redis_cluster_request, to_list_one_name_is_sent_to_the_server_that_has_it) {
  test::request_form request;
  request.kind = test::task::list;
  const auto of_one = std::make_shared<listing>();
  of_one->scanned = of_one->follows = true;
  of_one->found = {"holdfast:a"};
  request.listed = of_one;
  request_fsm talk{request, in_, owner_id{}};
  std::string said;
  EXPECT_EQ(talk.say(said), 1U);
  ASSERT_TRUE(talk.hear({moved(1)}));
  EXPECT_TRUE(talk.redirection());
  EXPECT_THAT(of_one->found, ElementsAre("holdfast:a"));
}

TEST_F(redis_cluster_request, to_list_asks_again_for_names_that_another_error_is_about) {
  listing names;
  EXPECT_TRUE(names.hear_scan(list({text("0"), list({text("holdfast:a"), text("holdfast:b")})}), in_));
  const auto problem =
      names.hear_details({moved(1), error_of("CLUSTERDOWN Hash slot not served")}, in_, false);
  ASSERT_TRUE(problem);
  EXPECT_TRUE(problem->retryable);
  EXPECT_THAT(names.moved, ElementsAre("holdfast:a"));
  EXPECT_THAT(names.found, ElementsAre("holdfast:b"));
}

}  // namespace
}  // namespace holdfast::redis
