// SPDX-License-Identifier: Apache-2.0
// TLS handshakes of which a byte comes now and again.

#include <future>

#include "faults/faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::faults {
namespace {

using test::direction;

class mariadb_slow_handshakes : public testing::Test {
 protected:
  [[nodiscard]] std::string url(const std::string& connect_timeout) const {
    return "mysql://holdfast:secret@localhost:" + std::to_string(line_.port()) +
           "/holdfast?ca=" + server_.authority().authority() + "&connect_timeout=" + connect_timeout;
  }
  /// Until a handshake is under way, of which the rest would take many minutes.
  void await_handshake() {
    constexpr std::size_t greeting_and_more = 200;  // less than the server's certificate
    await([&] { return line_.passed(direction::to_client) > greeting_and_more; }, "no handshake begins");
    line_.interfere(direction::to_client, {.bytes_per_second = 1});
  }

  test::mariadb_server server_{{.tls = "DNS:localhost"}};
  test::fault_proxy line_{server_.port()};
};

TEST_F(mariadb_slow_handshakes, end_at_the_limit) {
  line_.interfere(direction::to_client, {.bytes_per_second = 100});
  client locks{url("5s")};
  auto failed = std::async(std::launch::async, [&] {
    return failure_of([&] { mutex{locks, "stock", lock_options{}.retry(retry_policy{}.limit(8s))}.lock(); });
  });
  await_handshake();
  const auto reason = failed.get();
  EXPECT_EQ(reason.code, errc::unavailable) << reason.text;
  EXPECT_THAT(reason.text, testing::HasSubstr("no connection within 5000 ms"));
  line_.heal();
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
}

TEST_F(mariadb_slow_handshakes, do_not_hold_up_the_end_of_a_client) {
  line_.interfere(direction::to_client, {.bytes_per_second = 40});
  client locks{url("10m")};
  auto failed =
      std::async(std::launch::async, [&] { return failure_of([&] { mutex{locks, "stock"}.lock(); }); });
  await_handshake();
  locks.close();  // or it takes ten minutes, and the limit of the test ends it
  EXPECT_TRUE(failed.get().code);
}

}  // namespace
}  // namespace holdfast::faults
