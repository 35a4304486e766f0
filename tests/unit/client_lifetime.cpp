// SPDX-License-Identifier: Apache-2.0
// Asynchronous calls that are under way keep no client alive: it ends on the thread that destroys it.

#include <chrono>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "holdfast/client.hpp"
#include "holdfast/detail/election_handle.hpp"
#include "holdfast/detail/set_handle.hpp"
#include "holdfast/election.hpp"
#include "holdfast/error.hpp"
#include "holdfast/event.hpp"
#include "holdfast/lock_set.hpp"
#include "holdfast/mutex.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

const std::string store = "memory:client_lifetime";

/// Goes on for a while, or until the client is gone.
class slow_completion : public detail::completion {
 public:
  slow_completion(std::shared_future<void> gone, std::promise<std::error_code> result)
      : gone_{std::move(gone)}, result_{std::move(result)} {}
  void complete(detail::outcome ended) noexcept override {
    gone_.wait_for(1s);
    result_.set_value(ended.code);
  }

 private:
  std::shared_future<void> gone_;
  std::promise<std::error_code> result_;
};

class client_lifetime : public testing::Test {
 protected:
  using starting = std::function<void(client&, std::unique_ptr<detail::completion>)>;

  /// Destroys a client while a call is under way, whose object is gone.
  void expect_end_during(const starting& start) {
    auto mark = std::make_shared<int>();
    const std::weak_ptr<int> core = mark;
    auto locks =
        std::make_unique<client>(store, client_options{}.observer([m = std::move(mark)](const event&) {}));
    std::promise<void> gone;
    std::promise<std::error_code> result;
    auto ended = result.get_future();
    start(*locks, std::make_unique<slow_completion>(gone.get_future().share(), std::move(result)));
    ASSERT_EQ(ended.wait_for(0s), std::future_status::timeout);
    locks.reset();
    EXPECT_TRUE(core.expired()) << "the client lives on in its own call";
    gone.set_value();
    EXPECT_EQ(ended.get(), errc::closed);
  }

  client other_{store};
};

TEST_F(client_lifetime, ends_with_a_set) {
  const auto held = mutex{other_, "x"}.acquire();
  expect_end_during([](client& locks, auto handler) {
    detail::set_handle{locks, {lock_spec{"x"}}, std::nullopt}.async_acquire(std::nullopt, std::move(handler));
  });
}

TEST_F(client_lifetime, ends_with_a_campaign) {
  const auto leading = election{other_, "x"}.campaign("other");
  expect_end_during([](client& locks, auto handler) {
    detail::election_handle{locks, "x", std::nullopt}.async_campaign("one", std::nullopt, std::move(handler));
  });
}

// One call is posted behind another, which destroys the client.
TEST_F(client_lifetime, ends_the_calls_of_its_watches) {
  auto locks = std::make_unique<client>(store);
  auto held = mutex{*locks, "x"}.acquire();
  std::promise<void> lost;
  held.on_lost([&](std::error_code) { lost.set_value(); });  // posted last, when the client has ended
  std::promise<void> begin;
  int calls = 0;
  const auto changed = [&, begun = begin.get_future().share()] {
    begun.wait();
    ++calls;
    locks.reset();
  };
  const auto one = locks->watch(changed);
  const auto two = locks->watch(changed);
  std::promise<void> both_are_due;
  std::once_flag once;
  const auto later = other_.watch([&] { std::call_once(once, [&] { both_are_due.set_value(); }); });
  both_are_due.get_future().wait();
  begin.set_value();
  ASSERT_EQ(lost.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace holdfast
