// SPDX-License-Identifier: Apache-2.0
// The session with which claims end.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <utility>
#include <vector>

#include "runtime/event_loop.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/sql/link/link.hpp"
#include "unit/comes_true.hpp"

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;

/// Answers each call without rows.
class idle_server final : public connection {
 public:
  idle_server(const owner_id& client, std::atomic<bool>& breaks) : connection{client}, breaks_{breaks} {}

  [[nodiscard]] int descriptor() const override { return ready_.descriptor(); }
  [[nodiscard]] short events() const override { return POLLIN; }
  [[nodiscard]] std::size_t depth() const override { return 16; }
  void send(const call& /*request*/) override {
    ++due_;
    ready_.ring();
  }
  [[nodiscard]] std::vector<answer> proceed() override {
    ready_.drain();
    if (breaks_.exchange(false)) throw runtime::connection_error{{errc::unavailable, "the session is over"}};
    return std::vector<answer>(std::exchange(due_, 0), answer{std::vector<row>{}});
  }

 private:
  std::atomic<bool>& breaks_;
  std::size_t due_ = 0;
  runtime::wakeup_fd ready_;
};

class session_link final : public link {
 public:
  session_link(runtime::event_loop& loop, std::atomic<bool>& breaks, std::atomic<int>& connects)
      : link{loop,
             {.place = "server", .quiet_limit = 10ms, .session = 60s},
             [&](const owner_id& client, const std::optional<owner_id>&, provision, int) {
               ++connects;
               return std::make_unique<idle_server>(client, breaks);
             }} {}
  ~session_link() override { shut(); }
  session_link(const session_link&) = delete;
  session_link& operator=(const session_link&) = delete;
  void start() { connection().start(); }
};

// The holds of a session that has ended would be extended with the next one.
TEST(sql_session, no_session_begins_before_the_end_of_the_former_one_is_told) {
  std::atomic<bool> breaks = false;
  std::atomic<int> connects = 0;
  std::atomic<int> ends = 0;  // that were told
  runtime::event_loop loop;
  session_link link{loop, breaks, connects};
  {
    const runtime::core_lock now{loop};
    link.on_session([&] {
      if (link.session_until() != store::time_point{}) return;
      ++ends;
    });
  }
  link.start();
  const auto has_session = [&] {
    const runtime::core_lock now{loop};
    return link.session_until() != store::time_point{};
  };
  ASSERT_TRUE(test::comes_true(has_session));
  const int before = ends;
  breaks = true;  // with the answer to the next ping
  ASSERT_TRUE(test::comes_true([&] { return connects > 1 && has_session(); }));
  EXPECT_GT(ends, before);
}

}  // namespace
}  // namespace holdfast::sql
