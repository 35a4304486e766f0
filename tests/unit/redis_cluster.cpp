// SPDX-License-Identifier: Apache-2.0
// Which server of a cluster has which slots: what is read, and what is made of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/renewals.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "support/request_form.hpp"
#include "unit/redis_values.hpp"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const server_address responder{"10.0.0.9", "7000"};
const server_address first{"10.0.0.1", "7001"};
const server_address second{"10.0.0.2", "7002"};

/// A server as CLUSTER SLOTS names it.
value server(value host, std::int64_t port) { return list({std::move(host), number(port), text("id")}); }
value server(const server_address& at) { return server(text(at.host), std::stoi(at.port)); }
value range(std::int64_t from, std::int64_t to, std::vector<value> servers) {
  std::vector<value> items{number(from), number(to)};
  items.insert(items.end(), servers.begin(), servers.end());
  return list(std::move(items));
}
slot_map map_of(std::vector<value> ranges) { return slot_map::read(list(std::move(ranges)), responder); }

/// The place of the server that has a slot.
std::string place_of(const slot_map& map, std::uint16_t slot) {
  const server_address* const primary = map.primary_of(slot);
  return primary == nullptr ? "none" : primary->place();
}

// ---- slot_map

TEST(redis_slot_map, is_asked_for_with_a_command_that_all_versions_know) {
  std::string bytes;
  slot_map::append_question(bytes);
  EXPECT_THAT(commands_in(bytes), ElementsAre(ElementsAre("CLUSTER", "SLOTS")));
}

TEST(redis_slot_map, knows_primaries_and_replicas) {
  const auto map = map_of(
      {range(0, 99, {server(first), server({"10.0.0.3", "7003"})}),
       range(100, 16383, {server(second), server({"10.0.0.3", "7003"}), server({"10.0.0.4", "7004"})})});
  EXPECT_EQ(place_of(map, 0), "10.0.0.1:7001");
  EXPECT_EQ(place_of(map, 99), "10.0.0.1:7001");
  EXPECT_EQ(place_of(map, 100), "10.0.0.2:7002");
  EXPECT_EQ(place_of(map, 16383), "10.0.0.2:7002");
  EXPECT_THAT(map.primaries(), UnorderedElementsAre(first, second));
  EXPECT_THAT(map.replicas(),
              ElementsAre(server_address{"10.0.0.3", "7003"}, server_address{"10.0.0.4", "7004"}));
}

TEST(redis_slot_map, takes_a_server_with_several_ranges_for_one) {
  const auto map =
      map_of({range(0, 0, {server(first)}), range(5, 6, {server(second)}), range(8, 16383, {server(first)})});
  EXPECT_THAT(map.primaries(), UnorderedElementsAre(first, second));
  EXPECT_EQ(place_of(map, 7), "none") << "a gap";
  EXPECT_EQ(map.last_slot_of(first), 16383);
  EXPECT_EQ(map.last_slot_of(second), 6);
}

// Redis 7 adds a list of names behind the id.
TEST(redis_slot_map, takes_the_host_that_the_cluster_prefers) {
  value with_metadata =
      list({text("node-1.example"), number(7001), text("id"), list({text("ip"), text("10.0.0.1")})});
  value without = list({text("10.0.0.2"), number(7002), text("id"), list({})});
  value oldest = list({text("10.0.0.3"), number(7003)});
  const auto map = map_of({range(0, 0, {std::move(with_metadata)}), range(1, 1, {std::move(without)}),
                           range(2, 2, {std::move(oldest)})});
  EXPECT_EQ(place_of(map, 0), "node-1.example:7001");
  EXPECT_EQ(place_of(map, 1), "10.0.0.2:7002");
  EXPECT_EQ(place_of(map, 2), "10.0.0.3:7003");
}

TEST(redis_slot_map, puts_the_server_that_answers_where_no_host_is) {
  const auto map = map_of({range(0, 0, {server(text(""), 7001)}), range(1, 1, {server(value{}, 7002)})});
  EXPECT_EQ(place_of(map, 0), "10.0.0.9:7001");
  EXPECT_EQ(place_of(map, 1), "10.0.0.9:7002");
}

TEST(redis_slot_map, has_no_server_where_the_cluster_knows_no_address) {
  const auto map = map_of({range(0, 0, {server(text("?"), 7001), server(text("?"), 7002)}),
                           range(1, 1, {server(text("10.0.0.1"), 0)})});
  EXPECT_EQ(place_of(map, 0), "none");
  EXPECT_EQ(place_of(map, 1), "none");
  EXPECT_TRUE(map.is_empty());
  EXPECT_THAT(map.replicas(), IsEmpty());
}

TEST(redis_slot_map, of_a_cluster_without_slots_is_empty) {
  EXPECT_TRUE(map_of({}).is_empty());
  EXPECT_TRUE(slot_map{}.is_empty());
  EXPECT_THAT(slot_map{}.primaries(), IsEmpty());
}

TEST(redis_slot_map, knows_addresses_of_the_sixth_version_of_ip) {
  EXPECT_EQ(place_of(map_of({range(0, 0, {server(text("fe80::1"), 7001)})}), 0), "[fe80::1]:7001");
}

TEST(redis_slot_map, takes_no_other_reply) {
  const value good = server(first);
  for (const value& nonsense : {
           value{},
           text("x"),
           number(1),
           push({}),
           list({number(1)}),
           list({list({})}),
           list({range(0, 1, {})}),
           list({list({text("0"), number(1), good})}),
           list({list({number(0), text("1"), good})}),
           list({list({number(0), value{}, good})}),
           list({range(-1, 1, {good})}),
           list({range(0, 16384, {good})}),
           list({range(std::numeric_limits<std::int64_t>::min(), 0, {good})}),
           list({range(0, std::numeric_limits<std::int64_t>::max(), {good})}),
           list({range(0, 1, {text("10.0.0.1:7001")})}),
           list({range(0, 1, {list({})})}),
           list({range(0, 1, {list({text("10.0.0.1")})})}),
           list({range(0, 1, {list({text("10.0.0.1"), text("7001")})})}),
           list({range(0, 1, {server(text("10.0.0.1"), -1)})}),
           list({range(0, 1, {server(text("10.0.0.1"), 65536)})}),
           list({range(0, 1, {server(text("a host"), 7001)})}),
           list({range(0, 1, {server(text("user@host"), 7001)})}),
           list({range(0, 1, {server(text("host\n"), 7001)})}),
           list({range(0, 1, {server(text(std::string(256, 'a')), 7001)})}),
           list({range(0, 1, {good, text("replica")})}),
           list({range(0, 1, {good, server(text("a host"), 7001)})}),
       }) {
    EXPECT_THROW((void)slot_map::read(nonsense, responder), misunderstood);
  }
}

// Old servers name the ranges in an order of their own. A listing begins anew where the servers have changed.
TEST(redis_slot_map, has_its_primaries_in_one_order) {
  const auto one = map_of({range(0, 99, {server(second)}), range(100, 16383, {server(first)})});
  const auto same = map_of({range(100, 16383, {server(first)}), range(0, 99, {server(second)})});
  EXPECT_EQ(one.primaries(), same.primaries());
  EXPECT_THAT(one.primaries(), ElementsAre(first, second));
}

TEST(redis_slot_map, has_no_more_ranges_than_slots) {
  std::vector<value> ranges(16384, range(0, 0, {server(first)}));
  EXPECT_EQ(map_of(ranges).last_slot_of(first), 0);
  ranges.push_back(range(0, 0, {server(first)}));
  EXPECT_THROW((void)map_of(ranges), misunderstood);
}

TEST(redis_slot_map, grows_no_further_than_a_cluster_does) {
  std::vector<value> ranges;
  for (std::int64_t i = 0; i < 4096; ++i) ranges.push_back(range(i, i, {server(text("10.0.0.1"), i + 1)}));
  EXPECT_EQ(map_of(ranges).primaries().size(), 4096U);
  ranges.push_back(range(4096, 4096, {server(text("10.0.0.1"), 4097)}));
  EXPECT_THROW((void)map_of(ranges), misunderstood);
  std::vector<value> servers{server(first)};
  for (std::int64_t i = 0; i < 5000; ++i) servers.push_back(server(text("10.0.0.2"), i + 1));
  EXPECT_EQ(map_of({range(0, 1, servers)}).replicas().size(), 4096U);
}

TEST(redis_slot_map, believes_a_server_that_says_where_a_slot_is) {
  auto map = map_of({range(0, 99, {server(first)}), range(100, 100, {server(second)})});
  EXPECT_TRUE(map.move(99, second));
  EXPECT_TRUE(map.move(7, {"10.0.0.7", "7007"}));
  EXPECT_EQ(place_of(map, 99), "10.0.0.2:7002");
  EXPECT_EQ(place_of(map, 7), "10.0.0.7:7007");
  EXPECT_EQ(place_of(map, 98), "10.0.0.1:7001");
  EXPECT_EQ(map.last_slot_of(first), 98);
  EXPECT_TRUE(map.move(16383, first));
  EXPECT_EQ(map.last_slot_of(first), 16383);
}

// A request that is redirected must not end in an exception.
TEST(redis_slot_map, believes_no_more_servers_than_a_cluster_has) {
  auto map = map_of({range(0, 16383, {server(first)})});
  for (int i = 1; i < 4096; ++i) ASSERT_TRUE(map.move(7, {"10.0.0.7", std::to_string(i)}));
  EXPECT_FALSE(map.move(7, second));
  EXPECT_EQ(place_of(map, 7), "10.0.0.7:4095");
  EXPECT_TRUE(map.move(7, first)) << "it is one of them";
}

TEST(redis_slot_map, forgets_a_primary_that_has_lost_all_slots) {
  auto map = map_of({range(0, 1, {server(first)}), range(2, 2, {server(second)})});
  EXPECT_TRUE(map.move(2, first));
  EXPECT_THAT(map.primaries(), ElementsAre(first));
  EXPECT_EQ(map.last_slot_of(second), std::nullopt);
  EXPECT_TRUE(map.move(2, second));
  EXPECT_THAT(map.primaries(), UnorderedElementsAre(first, second));
}

TEST(redis_slot_map, finds_a_servers_last_slot_below_another_one) {
  const auto map =
      map_of({range(0, 3, {server(first)}), range(5, 5, {server(first)}), range(6, 6, {server(second)})});
  EXPECT_EQ(map.last_slot_of(first), 5);
  EXPECT_EQ(map.last_slot_of(first, 6), 5);
  EXPECT_EQ(map.last_slot_of(first, 5), 3);
  EXPECT_EQ(map.last_slot_of(first, 1), 0);
  EXPECT_EQ(map.last_slot_of(first, 0), std::nullopt);
  EXPECT_EQ(map.last_slot_of(second, 6), std::nullopt);
  EXPECT_EQ(map.last_slot_of(responder), std::nullopt) << "it has none";
}

TEST(redis_slot_map, differs_where_a_slot_has_gone_elsewhere) {
  const auto before = map_of({range(0, 9, {server(first)}), range(20, 29, {server(second)})});
  EXPECT_FALSE(before.differs_from(before));
  const auto in_other_order =
      map_of({range(20, 29, {server(second)}), range(0, 9, {server(first), server(responder)})});
  EXPECT_FALSE(before.differs_from(in_other_order)) << "in other words";
  auto later = before;
  EXPECT_TRUE(later.move(10, first));
  EXPECT_FALSE(before.differs_from(later)) << "nobody waited in a slot without a server";
  EXPECT_TRUE(later.differs_from(before)) << "it has none any more";
  EXPECT_TRUE(later.move(0, second));
  EXPECT_TRUE(before.differs_from(later));
  EXPECT_FALSE(slot_map{}.differs_from(before));
}

// ---- redirection

TEST(redis_redirection, says_which_server_to_ask_instead) {
  const auto moved = redirection_in("MOVED 3999 127.0.0.1:6381");
  ASSERT_TRUE(moved);
  EXPECT_TRUE(moved->for_good);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->to, (server_address{"127.0.0.1", "6381"}));
  const auto ask = redirection_in("ASK 16383 node-2.example:7");
  ASSERT_TRUE(ask);
  EXPECT_FALSE(ask->for_good);
  EXPECT_EQ(ask->slot, 16383);
  EXPECT_EQ(ask->to, (server_address{"node-2.example", "7"}));
}

TEST(redis_redirection, knows_addresses_of_the_sixth_version_of_ip) {
  EXPECT_EQ(redirection_in("MOVED 1 fe80::1:7001")->to, (server_address{"fe80::1", "7001"}));
  EXPECT_EQ(redirection_in("MOVED 1 ::1:7001")->to, (server_address{"::1", "7001"}));
}

TEST(redis_redirection, names_no_host_where_it_is_the_same) {
  EXPECT_EQ(redirection_in("MOVED 1 :7001")->to, (server_address{"", "7001"}));
}

TEST(redis_redirection, is_nothing_else) {
  for (const char* other : {"",
                            "MOVED",
                            "MOVED ",
                            "ASK ",
                            "ASKED 1 a:1",
                            "moved 1 a:1",
                            "MOVED 1",
                            "MOVED 1 ",
                            "MOVED 1 a",
                            "MOVED 1 a:",
                            "MOVED 1 a:0",
                            "MOVED 1 a:65536",
                            "MOVED 1 a:b",
                            "MOVED 1 a:7001 ",
                            "MOVED 1 a:-1",
                            "MOVED 16384 a:1",
                            "MOVED -1 a:1",
                            "MOVED 99999 a:1",
                            "MOVED x a:1",
                            "MOVED 1x a:1",
                            "MOVED 1:a:1",
                            "MOVED 1  a:1",
                            "MOVED 1 a b:1",
                            "MOVED 1 u@a:1",
                            "MOVED 1 a\r:1",
                            "ERR MOVED 1 a:1",
                            "MOVED  1 a:1"}) {
    EXPECT_FALSE(redirection_in(other)) << other;
  }
  EXPECT_FALSE(redirection_in("MOVED 1 " + std::string(256, 'a') + ":1"));
}

// ---- split_renewal

class redis_split_renewal : public testing::Test {
 protected:
  using outcome = split_renewal::outcome;

  static tickets::renew renewal_of(const std::vector<std::string>& names) {
    tickets::renew whole;
    whole.send_by = store::time_point{20s};
    for (const std::string& name : names) whole.holds.push_back({name, owner_id::random(), {}, 30s});
    return whole;
  }
  static outcome kept(std::vector<bool> each, std::vector<std::size_t> unsure = {}) {
    return tickets::reply{tickets::kept{std::move(each), std::move(unsure)}};
  }
  static outcome failed(const std::string& message) {
    return store::request_error{{errc::unavailable, message}, true, true};
  }
  static const tickets::kept& kept_in(const std::optional<outcome>& o) {
    return std::get<tickets::kept>(std::get<tickets::reply>(o.value()));
  }

  // Three slots.
  split_renewal batch_{renewal_of({"a", "b{x}", "{x}c", "a{x}}", "d"}), "holdfast:"};
};

TEST_F(redis_split_renewal, has_a_part_for_each_slot) {
  ASSERT_EQ(batch_.parts().size(), 3U);
  EXPECT_THAT(batch_.parts()[0].indices, ElementsAre(0));
  EXPECT_THAT(batch_.parts()[1].indices, ElementsAre(1, 2, 3)) << "of one hash tag";
  EXPECT_THAT(batch_.parts()[2].indices, ElementsAre(4));
  for (const auto& part : batch_.parts()) {
    EXPECT_EQ(part.request.send_by, store::time_point{20s});
    ASSERT_EQ(part.request.holds.size(), part.indices.size());
    std::set<std::uint16_t> slots;
    for (const auto& hold : part.request.holds) {
      // The server looks at all keys of the command.
      const keys k = keys::of("holdfast:", hold.name);
      for (const std::string& key : {k.lock, k.fence, k.waiters, k.holders}) slots.insert(slot_of(key));
      EXPECT_EQ(hold.ttl, 30s);
    }
    EXPECT_EQ(slots.size(), 1U);
  }
}

TEST_F(redis_split_renewal, knows_the_tag_of_a_prefix) {
  const split_renewal batch{renewal_of({"a", "b", "{c}"}), "{jobs}:"};
  EXPECT_EQ(batch.parts().size(), 1U);
}

TEST_F(redis_split_renewal, does_not_take_braces_in_names_for_tags) {
  const split_renewal batch{renewal_of({"}", "{", "{}", "{}a", "{{a}"}), "holdfast:"};
  EXPECT_EQ(batch.parts().size(), 5U);
  const split_renewal same{renewal_of({"{{a}", "x{{a}"}), "holdfast:"};
  EXPECT_EQ(same.parts().size(), 1U) << "the tag is {a";
}

TEST_F(redis_split_renewal, puts_the_answers_together) {
  EXPECT_FALSE(batch_.take(2, kept({false})));
  EXPECT_FALSE(batch_.take(1, kept({true, false, true})));
  const auto whole = batch_.take(0, kept({true}));
  EXPECT_THAT(kept_in(whole).each, ElementsAre(true, true, false, true, false));
  EXPECT_THAT(kept_in(whole).unsure, IsEmpty());
}

TEST_F(redis_split_renewal, is_unsure_of_what_a_part_is_unsure_of) {
  EXPECT_FALSE(batch_.take(2, kept({false}, {0})));
  EXPECT_FALSE(batch_.take(1, kept({true, false, true}, {1})));
  EXPECT_THAT(kept_in(batch_.take(0, kept({true}))).unsure, ElementsAre(2, 4));
}

TEST_F(redis_split_renewal, is_unsure_of_the_holds_of_a_part_that_fails) {
  EXPECT_FALSE(batch_.take(1, failed("broken")));
  EXPECT_FALSE(batch_.take(2, kept({true})));
  const auto whole = batch_.take(0, kept({true}));
  EXPECT_THAT(kept_in(whole).unsure, ElementsAre(1, 2, 3));
  EXPECT_TRUE(kept_in(whole).each[0] && kept_in(whole).each[4]);
}

TEST_F(redis_split_renewal, fails_with_the_first_error_where_all_parts_fail) {
  EXPECT_FALSE(batch_.take(1, failed("one")));
  EXPECT_FALSE(batch_.take(0, failed("two")));
  EXPECT_EQ(std::get<store::request_error>(batch_.take(2, failed("three")).value()).reason.message, "one");
}

// A hold without an answer is not lost.
TEST_F(redis_split_renewal, is_unsure_of_all_holds_of_an_answer_that_does_not_fit) {
  EXPECT_FALSE(batch_.take(0, kept({true})));
  EXPECT_FALSE(batch_.take(1, kept({true, true})));
  EXPECT_THAT(kept_in(batch_.take(2, outcome{tickets::reply{tickets::done{}}})).unsure,
              ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace holdfast::redis
