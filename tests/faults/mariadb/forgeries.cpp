// SPDX-License-Identifier: Apache-2.0
// What a server says of a statement, and what a client makes of it.

#include <atomic>
#include <string>
#include <string_view>

#include "faults/faults.hpp"
#include "support/fault_proxy.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::faults {
namespace {

/// The reply to a prepare: its length and number, a zero, the statement's id in 4 bytes, columns and
/// parameters in 2.
constexpr std::string_view prepared{"\x0c\0\0\x01\0", 5};
constexpr std::size_t parameters_at = 11;
constexpr char prepares = '\x16';
constexpr std::size_t command_at = 4;

// The library takes as many parameters from the client's memory as the server counts.
TEST(mariadb_forgeries, of_the_number_of_parameters_are_reported) {
  const test::mariadb_server server;
  {
    client locks{server.url()};
    mutex{locks, "first"}.lock();
  }
  for (const char count : {'\0', '\x01', '\x7f'}) {
    test::fault_proxy line{server.port()};
    line.forge([count](std::string_view request, std::string_view answer) {
      std::string forged{answer};
      if (request.size() > command_at && request[command_at] == prepares && answer.starts_with(prepared))
        forged[parameters_at] = count;
      return forged;
    });
    client locks{"mysql://holdfast:secret@127.0.0.1:" + std::to_string(line.port()) + "/holdfast"};
    const auto failed = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
    EXPECT_EQ(failed.code, errc::corrupt_store) << failed.text;
    EXPECT_THAT(failed.text, testing::HasSubstr("parameters")) << static_cast<int>(count);
    line.heal();
    EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s));
  }
}

/// An error of no number that Holdfast knows: the packet's length and number, its kind, the number, the
/// state.
constexpr std::string_view unknown_error{"\x1d\0\0\x01\xff\x51\x04#HY000something went wrong", 33};
constexpr char executes = '\x17';

// A procedure commits before it answers, and may fail in between.
TEST(mariadb_unknown_errors, of_a_call_that_has_committed_leave_no_claim_behind) {
  test::mariadb_server server;
  {
    client locks{server.url()};
    mutex{locks, "first"}.lock();
  }
  test::fault_proxy line{server.port()};
  std::atomic<int> forged{0};
  line.forge([&](std::string_view request, std::string_view answer) {
    const bool claims = request.size() > command_at && request[command_at] == executes &&
                        request.find("stock") != std::string_view::npos;
    return std::string{claims && forged++ == 0 ? unknown_error : answer};
  });
  client locks{"mysql://holdfast:secret@127.0.0.1:" + std::to_string(line.port()) + "/holdfast"};
  const auto failed = failure_of([&] { mutex{locks, "stock", hasty().ttl(1h)}.lock(); });
  EXPECT_EQ(failed.code, errc::unknown_outcome) << failed.text;
  client others{server.url()};
  EXPECT_TRUE(mutex(others, "stock").try_lock_for(60s)) << "its claim stays";
}

}  // namespace
}  // namespace holdfast::faults
