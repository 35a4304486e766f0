// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>

#include "contract/sleeping_thread.hpp"
#include "support/redis_server.hpp"
#include <holdfast/holdfast.h>

namespace holdfast::faults {
namespace {

/// While it lives, the process stands still.
class standing_still {
 public:
  explicit standing_still(::pid_t process) : process_{process} { ::kill(process_, SIGSTOP); }
  ~standing_still() { ::kill(process_, SIGCONT); }
  standing_still(const standing_still&) = delete;
  standing_still& operator=(const standing_still&) = delete;

 private:
  ::pid_t process_;
};

TEST(redis_from_c, a_release_does_not_wait_for_a_renewal_of_another_thread) {
  test::redis_server server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port()) + "?failover_guard=0";
  holdfast_client* client = nullptr;
  holdfast_queue* queue = nullptr;
  ASSERT_EQ(holdfast_client_open(url.c_str(), nullptr, &client, nullptr), HOLDFAST_OK);
  ASSERT_EQ(holdfast_queue_open(0, &queue, nullptr), HOLDFAST_OK);
  holdfast_lock_options options = HOLDFAST_LOCK_OPTIONS_INIT;
  options.ttl_ms = 3'600'000;
  const holdfast_spec spec{"stock", HOLDFAST_EXCLUSIVE, 0, 0};
  holdfast_request request = HOLDFAST_REQUEST_INIT(&spec, 1);
  request.options = &options;
  holdfast_lease* lease = nullptr;
  ASSERT_EQ(holdfast_acquire(client, &request, &lease, nullptr), HOLDFAST_OK);

  std::atomic<bool> is_renewed = false;
  {
    std::optional<standing_still> paused{server.pid()};
    contract::sleeping_thread renewing{[&] {
      holdfast_lease_renew(lease, nullptr);
      is_renewed = true;
    }};
    EXPECT_TRUE(renewing.sleeps());
    EXPECT_EQ(holdfast_lease_release_start(lease, queue, 7, nullptr), HOLDFAST_OK);
    EXPECT_FALSE(is_renewed) << "the release has waited for it";
    EXPECT_FALSE(holdfast_lease_is_held(lease));
    EXPECT_EQ(holdfast_lease_renew(lease, nullptr), HOLDFAST_ERR_NOT_OWNER);
    paused.reset();
  }
  EXPECT_TRUE(is_renewed);
  ::pollfd readable{holdfast_queue_fd(queue), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 60'000), 1);
  holdfast_completion end{};
  EXPECT_TRUE(holdfast_queue_next(queue, &end));
  EXPECT_EQ(end.code, HOLDFAST_OK);
  EXPECT_EQ(end.tag, 7U);
  EXPECT_EQ(server.ask({"EXISTS", "stock"}), "0");
  holdfast_lease_free(lease);
  holdfast_queue_free(queue);
  holdfast_client_free(client);
}

}  // namespace
}  // namespace holdfast::faults
