// A link over calls that block, where a call or a handler throws: every request is answered all the same.

#include "runtime/batching_link.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class throwing_link final : public runtime::batching_link {
 public:
  explicit throwing_link(runtime::event_loop& on) : batching_link{on} {}
  ~throwing_link() override { batching_link::shut(); }
  throwing_link(const throwing_link&) = delete;
  throwing_link& operator=(const throwing_link&) = delete;

  std::shared_ptr<void> watch(store::watched, std::function<void()>) override { return nullptr; }
  void start_thread() { start(); }

  std::atomic<bool> is_out_of_memory = false;

 private:
  /// Throws after it has carried out the first.
  bool execute(std::vector<job>& batch, bool) override HOLDFAST_REQUIRES(executing()) {
    for (job& each : batch) {
      each.result = tickets::reply{tickets::done{}};
      if (is_out_of_memory) throw std::bad_alloc{};
      deliver_after_batch({each.request.owner, store::notification_kind::look, {}});
    }
    return true;
  }
};

class batching_link_out_of_memory : public testing::Test {
 protected:
  using outcome = throwing_link::outcome;

  void send(std::function<void(const outcome&)> handler) {
    const runtime::core_lock now{loop_, true};
    link_.send({}, [handler = std::move(handler)](const outcome& o) { handler(o); });
  }
  [[nodiscard]] static bool may_have_been_executed(const outcome& o) {
    const auto* const failed = std::get_if<store::request_error>(&o);
    return failed != nullptr && failed->reason.code == errc::exhausted && failed->retryable &&
           failed->maybe_executed;
  }

  runtime::event_loop loop_;
  throwing_link link_{loop_};
};

TEST_F(batching_link_out_of_memory, answers_each_request_of_the_batch_where_the_store_throws) {
  std::vector<bool> answers;
  for (int i = 0; i < 3; ++i) {
    send([&](const outcome& o) { answers.push_back(may_have_been_executed(o)); });
  }
  link_.is_out_of_memory = true;
  EXPECT_NO_THROW(EXPECT_TRUE(link_.drive()));
  EXPECT_EQ(answers, std::vector<bool>(3, true));
}

TEST_F(batching_link_out_of_memory, runs_the_handlers_behind_one_that_throws) {
  int answers = 0;
  int notifications = 0;
  link_.on_notifications([&](const store::notification&) {
    ++notifications;
    throw std::bad_alloc{};
  });
  send([](const outcome&) { throw std::bad_alloc{}; });
  send([&](const outcome&) { ++answers; });
  EXPECT_NO_THROW(EXPECT_TRUE(link_.drive())) << "the exception concerns no caller that drives";
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(notifications, 2);
}

TEST_F(batching_link_out_of_memory, goes_on_with_its_own_thread) {
  std::promise<bool> first;
  std::promise<bool> second;
  link_.is_out_of_memory = true;
  link_.start_thread();
  send([&](const outcome& o) {
    first.set_value(may_have_been_executed(o));
    throw std::bad_alloc{};
  });
  link_.kick();
  EXPECT_TRUE(first.get_future().get());
  send([&](const outcome& o) { second.set_value(may_have_been_executed(o)); });
  link_.kick();
  EXPECT_TRUE(second.get_future().get());
}

}  // namespace
}  // namespace holdfast::test
