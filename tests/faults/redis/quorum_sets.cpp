// Clients that mean different sets of servers.

#include <string>
#include <vector>

#include "faults/faults.hpp"
#include "support/redis_quorum.hpp"

namespace holdfast::faults {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string place_of(test::redis_server& server) { return "127.0.0.1:" + std::to_string(server.port()); }

std::string url_of(const std::vector<std::string>& places) {
  std::string url;
  for (const std::string& each : places) url += (url.empty() ? "redlock://" : ",") + each;
  return url + "?restart_guard=0";
}

TEST(redis_quorum_sets, that_differ_let_no_two_in) {
  test::redis_quorum servers;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < servers.size(); ++i) places.push_back(place_of(servers.server(i)));
  client five{url_of(places)};
  auto held = mutex{five, "stock"}.acquire();
  const auto refused = failure_of([&] {
    client three{url_of({places[2], places[3], places[4]})};
    mutex{three, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr(places[0]), HasSubstr("the same servers")));
  EXPECT_EQ(renew(held), renewal::renewed);
}

TEST(redis_quorum_sets, in_another_order_are_the_same) {
  test::redis_quorum servers{{.servers = 3}};
  const std::string a = place_of(servers.server(0));
  const std::string b = place_of(servers.server(1));
  const std::string c = place_of(servers.server(2));
  client one{url_of({a, b, c})};
  client two{url_of({c, a, b})};
  auto held = mutex{one, "stock"}.acquire();
  EXPECT_FALSE(mutex(two, "stock").try_acquire());
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(mutex(two, "stock").try_acquire());
}

}  // namespace
}  // namespace holdfast::faults
