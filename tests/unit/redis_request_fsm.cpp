// SPDX-License-Identifier: Apache-2.0
// What is said to a server, and what is made of its answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "support/ballot_form.hpp"
#include "support/request_form.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using outcome = request_fsm::outcome;

const owner_id client = owner_id::random();
const owner_id owner = owner_id::random();

test::request_form request_for(test::task task) {
  test::request_form r;
  r.kind = task;
  r.name = "stock";
  r.owner = owner;
  r.weight = r.capacity = store::full_capacity;
  r.ttl = 30s;
  r.wait = true;
  return r;
}

/// The arguments of each command that is said now.
std::vector<std::vector<std::string>> said(request_fsm& talk) {
  std::string bytes;
  const std::size_t due = talk.say(bytes);
  auto commands = commands_in(bytes);
  EXPECT_EQ(commands.size(), due);
  return commands;
}

std::vector<value> one(value v) {
  std::vector<value> all;
  all.push_back(std::move(v));
  return all;
}

const store::request_error& request_error_in(const std::optional<outcome>& o) {
  return std::get<store::request_error>(o.value());
}
template <class Reply>
const Reply& reply_in(const std::optional<outcome>& o) {
  return std::get<Reply>(std::get<tickets::reply>(o.value()));
}

class redis_request_fsm : public testing::Test {
 protected:
  dialect in;
};

TEST_F(redis_request_fsm, names_a_script_and_sends_it_only_where_it_is_not_known) {
  request_fsm talk{request_for(test::task::release), in, client};
  auto commands = said(talk);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0][0], "EVALSHA");
  EXPECT_EQ(commands[0][1].size(), 40U);
  EXPECT_FALSE(talk.hear(one(error_of("NOSCRIPT No matching script. Please use EVAL."))));
  commands = said(talk);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0][0], "EVAL");
  EXPECT_THAT(commands[0][1], HasSubstr("redis.call"));
  const keys k = keys::of(in.prefix, "stock");
  commands[0].erase(commands[0].begin(), commands[0].begin() + 2);
  EXPECT_THAT(commands[0], ElementsAre("4", k.lock, k.fence, k.waiters, k.holders, owner.hex(), "3600000"));
  EXPECT_NO_THROW((void)reply_in<tickets::done>(talk.hear(one(number(1)))));
}

// At one of several servers the same owner may have claimed anew when the end of its former claim comes.
TEST_F(redis_request_fsm, says_which_claim_ends_at_one_of_several_servers) {
  in.votes = true;
  const std::string last = "00000000000000000007";
  const auto arguments_of = [this](const test::request_form& r) {
    request_fsm talk{test::ballot_of(r), in, client};
    auto call = said(talk)[0];
    call.erase(call.begin(), call.begin() + 7);  // EVALSHA, the script and its keys
    return call;
  };
  auto ends = request_for(test::task::retract);
  ends.last = fencing_token{7};
  EXPECT_THAT(arguments_of(ends), ElementsAre(owner.hex(), "3601000", last));
  ends.met_foreign = true;
  EXPECT_THAT(arguments_of(ends), ElementsAre(owner.hex(), "3601000", last, "foreign"));
  auto forced = request_for(test::task::end_hold);
  forced.last = fencing_token{7};
  EXPECT_THAT(arguments_of(forced), ElementsAre(owner.hex(), "3601000", last));
}

TEST_F(redis_request_fsm, sends_no_renewal_again_after_its_time) {
  auto renewal = request_for(test::task::renew);
  renewal.send_by = store::time_point{10s};
  request_fsm talk{renewal, in, client};
  static_cast<void>(said(talk));
  EXPECT_FALSE(talk.give_up(store::time_point{10s})) << "it waits for its reply";
  ASSERT_FALSE(talk.hear(one(error_of("NOSCRIPT No matching script. Please use EVAL."))));
  EXPECT_FALSE(talk.give_up(store::time_point{9s}));
  const auto outcome = talk.give_up(store::time_point{10s});
  EXPECT_EQ(request_error_in(outcome).reason.code, errc::unavailable);
  EXPECT_FALSE(request_error_in(outcome).maybe_executed);
}

// It may have been demoted, and promoted again, while this client stood still.
TEST_F(redis_request_fsm, sends_nothing_again_to_a_server_that_has_to_be_asked_whether_it_grants) {
  request_fsm talk{request_for(test::task::acquire), in, client};
  static_cast<void>(said(talk));
  EXPECT_FALSE(talk.give_up(store::time_point{}, true)) << "it waits for its reply";
  ASSERT_FALSE(talk.hear(one(error_of("NOSCRIPT No matching script. Please use EVAL."))));
  EXPECT_FALSE(talk.give_up(store::time_point{}, false));
  const auto outcome = talk.give_up(store::time_point{}, true);
  EXPECT_TRUE(request_error_in(outcome).retryable);
  EXPECT_FALSE(request_error_in(outcome).maybe_executed);
}

TEST_F(redis_request_fsm, has_the_server_remember_no_shorter_than_two_ttls) {
  in.keep = 1s;
  request_fsm talk{request_for(test::task::acquire), in, client};
  EXPECT_EQ(said(talk)[0][9], "60000");
}

TEST_F(redis_request_fsm, rounds_the_time_up_for_the_server) {
  auto request = request_for(test::task::acquire);
  request.ttl = 100'001us;
  request_fsm talk{request, in, client};
  EXPECT_EQ(said(talk)[0][8], "101");
}

// Its ttl may have begun at a time that the client cannot know, and WAIT waits for writes alone.
TEST_F(redis_request_fsm, begins_a_new_ttl_for_a_claim_that_it_finds) {
  request_fsm talk{request_for(test::task::find), in, client};
  const auto arguments = said(talk)[0];
  ASSERT_EQ(arguments.size(), 11U);
  EXPECT_EQ(arguments[8], "") << "the token is not known";
  EXPECT_EQ(arguments[9], "30000");
}

TEST_F(redis_request_fsm, reads_exact_tokens) {
  request_fsm talk{request_for(test::task::acquire), in, client};
  said(talk);
  const auto at = reply_in<tickets::place>(talk.hear(one(text("18446744073709551615"))));
  EXPECT_TRUE(at.granted);
  EXPECT_EQ(at.token.value(), 18446744073709551615U);
}

TEST_F(redis_request_fsm, brings_the_secret_of_a_place_unless_the_grant_needs_others) {
  const auto claim_with = [&](tickets::request to_say) {
    request_fsm talk{std::move(to_say), in, client};
    return said(talk)[0].back();
  };
  const tickets::request request = request_for(test::task::acquire);
  tickets::acquire secretly = std::get<tickets::acquire>(request);
  secretly.proof = 0xc0ffee;
  EXPECT_THAT(claim_with(secretly), StartsWith(client.hex() + "/c0ffee 1073741824 "));
  EXPECT_THAT(claim_with(request), StartsWith(client.hex() + " 1073741824 "));
  in.replicas = 1;
  EXPECT_THAT(claim_with(secretly), StartsWith(client.hex() + " 1073741824 "));
}

TEST_F(redis_request_fsm, asks_replicas_whether_they_know_of_a_grant) {
  in.replicas = 2;
  request_fsm talk{request_for(test::task::acquire), in, client};
  said(talk);
  EXPECT_FALSE(talk.hear(one(text("00000000000000000007"))));
  EXPECT_THAT(said(talk), ElementsAre(ElementsAre("WAIT", "2", "200")));
  EXPECT_EQ(reply_in<tickets::place>(talk.hear(one(number(2)))).token, fencing_token{7});
}

// Nothing is sent to undo it: that could be late, and end what is believed by then.
TEST_F(redis_request_fsm, says_of_a_grant_that_too_few_replicas_know_that_it_stands) {
  in.replicas = 2;
  request_fsm talk{request_for(test::task::acquire), in, client};
  said(talk);
  EXPECT_FALSE(talk.hear(one(text("00000000000000000007"))));
  said(talk);
  const auto o = talk.hear(one(number(1)));
  EXPECT_EQ(request_error_in(o).reason.code, errc::unavailable);
  EXPECT_TRUE(request_error_in(o).retryable && request_error_in(o).granted);
  EXPECT_FALSE(request_error_in(o).maybe_executed);
  EXPECT_THAT(request_error_in(o).reason.message, HasSubstr("2 replicas"));
}

TEST_F(redis_request_fsm, does_not_ask_replicas_about_a_place_in_the_queue) {
  in.replicas = 2;
  request_fsm talk{request_for(test::task::acquire), in, client};
  said(talk);
  const auto o = talk.hear(one(list({number(0), text("7"), number(1), number(12'000), number(1)})));
  const auto& at = reply_in<tickets::place>(o);
  EXPECT_FALSE(at.granted);
  EXPECT_TRUE(at.head && at.silent);
  EXPECT_EQ(at.holder_left, 12s);
}

TEST_F(redis_request_fsm, renews_many_at_once) {
  auto request = request_for(test::task::renew);
  request.holds = {{"a", owner, {}, 30s}, {"b", client, {}, 20s}};
  request_fsm talk{request, in, client};
  const auto arguments = said(talk)[0];
  EXPECT_EQ(arguments[2], "8");
  EXPECT_EQ(arguments[3], "holdfast:a");
  EXPECT_EQ(arguments[7], "holdfast:b");
  EXPECT_THAT(std::vector(arguments.begin() + 11, arguments.end()),
              ElementsAre("3600000", owner.hex(), "30000", client.hex(), "20000"));
  EXPECT_THAT(reply_in<tickets::kept>(talk.hear(one(text("10")))).each, ElementsAre(true, false));
}

TEST_F(redis_request_fsm, says_so_when_an_answer_makes_no_sense) {
  for (const value& nonsense :
       {list({}), text("x"), list({number(9)}), number(3), list({number(1), text("-1")})}) {
    request_fsm talk{request_for(test::task::acquire), in, client};
    said(talk);
    const auto o = talk.hear(one(nonsense));
    EXPECT_EQ(request_error_in(o).reason.code, errc::corrupt_store);
    EXPECT_TRUE(request_error_in(o).maybe_executed) << "something was carried out";
  }
}

TEST_F(redis_request_fsm, counts_with_no_time_that_it_cannot_count_with) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  const auto century = std::chrono::years{100};
  request_fsm waits{request_for(test::task::acquire), in, client};
  said(waits);
  const auto at = reply_in<tickets::place>(
      waits.hear(one(list({number(0), text("7"), number(1), number(most), number(0)}))));
  ASSERT_TRUE(at.holder_left);
  EXPECT_GT(*at.holder_left, century);
  EXPECT_GT(boot_clock::now() + *at.holder_left, boot_clock::now()) << "it wraps around";
  for (const auto now : {least, std::int64_t{0}, most}) {
    for (const auto since : {least, most}) {
      request_fsm talk{request_for(test::task::inspect), in, client};
      said(talk);
      const auto claim =
          "00000000000000000007 " + owner.hex() + " " + std::to_string(since) + " 00 1 1 30000 {}";
      const auto holders = list({text(""), number(0), text(claim), number(least)});
      const auto o = talk.hear(one(list({number(now), text("7"), text("holdfast:shared 1 1"), number(most),
                                         list({text(""), number(0)}), holders, number(0), number(1)})));
      const auto& state = reply_in<std::optional<lock_state>>(o);
      ASSERT_TRUE(state);
      for (const auto& holder : state->holders) EXPECT_GE(holder.age, duration::zero());
      EXPECT_EQ(state->holders.size(), now == most ? 0U : 1U);
    }
  }
}

TEST_F(redis_request_fsm, names_the_key_that_is_of_another_type_and_the_type) {
  const auto message_for = [this](const value& type) {
    request_fsm talk{request_for(test::task::acquire), in, client};
    said(talk);
    EXPECT_FALSE(talk.hear(one(error_of("WRONGTYPE Operation against a key"))));
    EXPECT_THAT(said(talk), ElementsAre(ElementsAre("TYPE", "holdfast:stock")));
    const auto o = talk.hear(one(type));
    EXPECT_EQ(request_error_in(o).reason.code, errc::wrong_type);
    EXPECT_FALSE(request_error_in(o).retryable || request_error_in(o).maybe_executed);
    EXPECT_THAT(request_error_in(o).reason.message, HasSubstr("holdfast:stock"));
    return request_error_in(o).reason.message;
  };
  EXPECT_THAT(message_for(text("hash")), AllOf(HasSubstr("is a hash"), HasSubstr("Redisson")));
  EXPECT_THAT(message_for(text("zset")), AllOf(HasSubstr("is a zset"), Not(HasSubstr("Redisson"))));
  for (const value& other : {text("string"), text("none"), error_of("NOPERM no TYPE for you"), number(1)}) {
    EXPECT_THAT(message_for(other), HasSubstr("or a side key of it"));
  }
}

TEST_F(redis_request_fsm, lists_a_part_at_a_time_by_scanning_and_then_looking_at_each) {
  auto request = request_for(test::task::list);
  std::vector<std::vector<std::string>> commands;
  const auto ask = [&](std::vector<value> answers) {
    request_fsm talk{request, in, client};
    commands = said(talk);
    auto o = talk.hear(std::move(answers));
    if (std::holds_alternative<store::request_error>(o.value())) return tickets::more{nullptr, false};
    auto part = reply_in<tickets::more>(o);
    request.listed = part.listed;
    return part;
  };
  const auto first = list({text(keys::of("holdfast:", "a").fence), text("x\x1f"
                                                                        "fence")});
  EXPECT_TRUE(ask(one(list({text("17"), first}))).progress);
  EXPECT_THAT(commands[0],
              ElementsAre("SCAN", "0", "MATCH", "*holdfast:*", "COUNT", "1000", "TYPE", "string"));
  EXPECT_FALSE(ask(one(list({text("17"), list({})}))).progress) << "it stands where it stood";
  EXPECT_EQ(commands[0][1], "17");
  const auto last =
      list({text(keys::of("other:holdfast:", "b").fence), text("holdfast:a"), text("holdfast:c"),
            text(keys::of("holdfast:", "c").holders), text("theirs:holdfast:d")});
  EXPECT_TRUE(ask(one(list({text("0"), last}))).progress);
  EXPECT_FALSE(ask({error_of("BUSY"), error_of("BUSY")}).listed);
  request_fsm talk{request, in, client};
  commands = said(talk);
  ASSERT_EQ(commands.size(), 2U) << "both are looked at again";
  EXPECT_EQ(commands[0][0], "EVAL");
  EXPECT_EQ(commands[1][0], "EVALSHA");
  const auto none = list({text(""), number(0)});
  const auto foreign =
      list({text("1000"), {}, text("someone"), number(500), none, none, number(10'000), number(0)});
  const auto idle =
      list({text("1000"), text("00000000000000000009"), {}, number(-2), none, none, number(0), number(0)});
  std::vector<value> answers{idle, foreign};
  const auto o = talk.hear(answers);
  const auto& all = reply_in<std::vector<lock_summary>>(o);
  ASSERT_EQ(all.size(), 1U) << "idle names are listed only when asked for";
  EXPECT_EQ(all[0].name, "c");
  EXPECT_EQ(all[0].holders, 1U);
  EXPECT_EQ(all[0].waiters, 10'000U) << "counted by the server, and not read";
}

TEST_F(redis_request_fsm, looks_at_the_summaries_of_a_few_names_at_once) {
  auto names = std::make_shared<listing>();
  names->scanned = true;
  for (int i = 0; i < 1000; ++i) names->found.insert("holdfast:" + std::to_string(i));
  auto request = request_for(test::task::list);
  request.listed = names;
  request_fsm talk{request, in, client};
  const auto commands = said(talk);
  EXPECT_EQ(commands.size(), 32U);
  for (const auto& each : commands)
    EXPECT_THAT(std::vector(each.end() - 6, each.end()), ElementsAre("0", "0", "1", "0", "0", "1"));
}

TEST_F(redis_request_fsm, inspects_a_part_at_a_time) {
  auto request = request_for(test::task::inspect);
  request.waiters_read = 1;
  std::vector<std::string> arguments;
  const auto ask = [&](const char* now, const value& waiters, const value& holders) {
    request_fsm talk{request, in, client};
    const auto all = said(talk);
    arguments = {all.at(0).end() - 6, all.at(0).end()};
    auto o = talk.hear(one(list({text(now), text("00000000000000000099"), text("holdfast:shared 2 5"),
                                 number(500), waiters, holders, number(7), number(2)})));
    return std::get<tickets::reply>(o.value());
  };
  const auto claim = [](const char* token, const char* since, const owner_id& of) {
    return text("000000000000000000" + std::string{token} + " " + of.hex() + " " + since +
                " 00 1 5 30000 {}");
  };
  const auto first = ask("1000", list({text("0"), number(0)}),
                         list({text("10"), number(1), claim("10", "1", owner), text("-9000")}));
  EXPECT_THAT(arguments, ElementsAre("0", "0", "2147483647", "0", "0", "1"));
  request.listed = std::get<tickets::more>(first).listed;
  const auto last = ask("3000", list({text(""), number(0), claim("13", "1", client), text("-9000")}),
                        list({text(""), number(0), claim("11", "900000", client), text("-9000"),
                              claim("12", "2000000", client), text("-9000")}));
  EXPECT_THAT(arguments, ElementsAre("10", "1", "2147483647", "0", "0", "1"));
  const auto& state = std::get<std::optional<lock_state>>(last);
  ASSERT_TRUE(state);
  ASSERT_EQ(state->holders.size(), 2U) << "the third one was granted during the inspection";
  EXPECT_EQ(state->holders.back().token, fencing_token{11});
  EXPECT_EQ(state->waiters.size(), 1U);
  EXPECT_EQ(state->capacity, 5);
}

TEST_F(redis_request_fsm, reads_no_waiters_that_nobody_asked_for) {
  auto request = request_for(test::task::inspect);
  request.waiters_read = 0;
  request_fsm talk{request, in, client};
  const auto all = said(talk);
  EXPECT_THAT(std::vector(all[0].end() - 3, all[0].end()), ElementsAre("0", "0", "0"));
  const auto none = list({text(""), number(0)});
  const auto o = talk.hear(one(list({text("1000"), {}, {}, number(-2), none, none, number(7), number(0)})));
  EXPECT_TRUE(reply_in<std::optional<lock_state>>(o)) << "the name is known: there are waiters";
}

TEST_F(redis_request_fsm, does_not_ask_for_ever_of_a_server_that_stays_where_it_is) {
  auto request = request_for(test::task::inspect);
  const auto stays = list({text("7"), number(1)});
  const auto reply =
      list({text("1000"), {}, {}, number(-2), list({text("0"), number(0)}), stays, number(7), number(9)});
  request_fsm first{request, in, client};
  said(first);
  request.listed = reply_in<tickets::more>(first.hear(one(reply))).listed;
  request_fsm second{request, in, client};
  said(second);
  EXPECT_EQ(request_error_in(second.hear(one(reply))).reason.code, errc::corrupt_store);
}

TEST_F(redis_request_fsm, lists_no_text_of_others_where_there_is_no_prefix) {
  in.prefix = "";
  auto request = request_for(test::task::list);
  request_fsm scan{request, in, client};
  EXPECT_EQ(said(scan)[0][3],
            "*\x1f"
            "fence");
  const auto part = reply_in<tickets::more>(
      scan.hear(one(list({text("0"), list({text(keys::of("", "a").fence), text("b")})}))));
  request.listed = part.listed;
  request_fsm details{request, in, client};
  EXPECT_EQ(said(details).size(), 1U);
}

/// What a look answers of a set in which it has read all claims.
value end_of_claims() { return list({text(""), number(0)}); }

TEST_F(redis_request_fsm, shows_of_a_foreign_value_its_beginning) {
  for (const char first : {'[', 'x'}) {
    request_fsm talk{request_for(test::task::inspect), in, client};
    static_cast<void>(said(talk));
    const auto o = talk.hear(one(list({text("1000"),
                                       {},
                                       text(std::string(5'000'000, first)),
                                       number(500),
                                       end_of_claims(),
                                       end_of_claims(),
                                       number(0),
                                       number(0)})));
    const auto& state = reply_in<std::optional<lock_state>>(o);
    ASSERT_TRUE(state && state->holders.size() == 1);
    EXPECT_EQ(state->holders[0].owner, std::string(256, first));
    EXPECT_EQ(state->holders[0].claimant.label, std::string(256, first));
  }
}

TEST_F(redis_request_fsm, shows_a_forged_claim_with_no_negative_number) {
  request_fsm talk{request_for(test::task::inspect), in, client};
  static_cast<void>(said(talk));
  const std::string claim = "00000000000000000007 " + owner.hex() + " 1000000 " + client.hex() +
                            R"( 1073741824 1073741824 30000 {"host":"a","pid":-5})";
  const auto o = talk.hear(one(list(
      {text("1000"), {}, text(claim), number(-1), end_of_claims(), end_of_claims(), number(0), number(0)})));
  const auto& state = reply_in<std::optional<lock_state>>(o);
  ASSERT_TRUE(state && state->holders.size() == 1);
  EXPECT_EQ(state->holders[0].claimant.pid, 0);
  EXPECT_EQ(state->holders[0].expires_in, duration::zero()) << "the key has no end";
}

TEST(redis_notifications, are_read_or_ignored) {
  const auto w = read_notification("granted " + owner.hex() + " 00000000000000000012");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->owner, owner);
  EXPECT_EQ(w->kind, store::notification_kind::granted);
  EXPECT_EQ(w->token, fencing_token{12});
  EXPECT_EQ(w->proof, 0U);
  const auto proven = read_notification("granted " + owner.hex() + " 12/c0ffee");
  EXPECT_EQ(proven->token, fencing_token{12});
  EXPECT_EQ(proven->proof, 0xc0ffeeU);
  const auto vote = read_notification("granted " + owner.hex() + " 12/c0ffee 34 0011 0012");
  ASSERT_TRUE(vote);
  EXPECT_EQ(vote->proof, 0xc0ffeeU);
  EXPECT_EQ(vote->grant, 34U);
  EXPECT_EQ(vote->accepted, fencing_token{11});
  EXPECT_EQ(vote->fence, fencing_token{12});
  EXPECT_EQ(read_notification("asked " + owner.hex() + " 12")->kind,
            store::notification_kind::release_requested);
  const std::vector<std::string> others{"",
                                        "granted",
                                        "granted " + owner.hex(),
                                        "granted x 12",
                                        "boiled " + owner.hex() + " 12",
                                        "granted " + owner.hex() + " 12x",
                                        "granted " + owner.hex() + " 12/",
                                        "granted " + owner.hex() + " 12/g",
                                        "granted " + owner.hex() + " 12/10000000000000000",
                                        "granted " + owner.hex() + " 12/c0ffee 34",
                                        "granted " + owner.hex() + " 12/c0ffee 34 11",
                                        "granted " + owner.hex() + " 12/c0ffee 34 11 12 13",
                                        "granted " + owner.hex() + " 12/c0ffee 34 11 x"};
  for (const std::string& other : others) {
    EXPECT_FALSE(read_notification(other)) << other;
  }
}

}  // namespace
}  // namespace holdfast::redis
