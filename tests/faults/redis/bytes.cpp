// SPDX-License-Identifier: Apache-2.0
// Something that answers, and is no Redis server, or not in its right mind: an error within the caller's
// patience, whatever the bytes.

#include "faults/faults.hpp"
#include "faults/hostile_bytes.hpp"
#include "support/canned_server.hpp"

namespace holdfast::faults {
namespace {

using test::canned_server;

TEST(redis_bytes, that_no_server_sends_end_in_an_error) {
  const test::stall_meter meter;
  for (const auto afterwards : {canned_server::then::stay, canned_server::then::close}) {
    for (const auto& bytes : hostile_bytes()) {
      canned_server server{bytes, afterwards};
      const auto url = "redis://127.0.0.1:" + std::to_string(server.port()) +
                       "?connect_timeout=60ms&answer_timeout=100ms&failover_guard=0";
      const auto before = boot_clock::now();
      const auto failed = failure_of([&] {
        client locks{url, client_options{}.flush_limit(0ms).locks(
                              lock_options{}.retry(retry_policy{}.limit(60ms).longest(20ms)))};
        mutex{locks, "stock"}.lock();
      });
      EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::corrupt_store ||
                  failed.code == errc::unknown_outcome)
          << testing::PrintToString(bytes.substr(0, 60)) << ": " << failed.text;
      EXPECT_LT(boot_clock::now() - before, meter.stretched(20s, before))
          << testing::PrintToString(bytes.substr(0, 60));
    }
  }
}

}  // namespace
}  // namespace holdfast::faults
