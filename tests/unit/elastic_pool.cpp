#include "runtime/elastic_pool.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "unit/no_threads.hpp"

namespace holdfast::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto hang = 30s;

/// A task that blocks until the test ends it.
class blocking_task {
 public:
  [[nodiscard]] std::function<void()> task() {
    return [this] {
      begun_.set_value();
      go_on_.get_future().wait();
    };
  }
  [[nodiscard]] bool begins() { return begun_.get_future().wait_for(hang) == std::future_status::ready; }
  void end() { go_on_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> go_on_;
};

TEST(elastic_pool, starts_tasks_in_the_order_of_posting) {
  std::vector<int> order;
  std::promise<void> all;
  {
    // One task at a time, as long as none of them blocks: a thread that waits for a processor counts as
    // blocked.
    elastic_pool pool{std::chrono::hours{1}};
    for (int each = 0; each < 100; ++each) pool.post({[&order, each] { order.push_back(each); }});
    pool.post({[&] { all.set_value(); }});
    ASSERT_EQ(all.get_future().wait_for(hang), std::future_status::ready);
  }
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// A task may go on when it has said that it begins: the pool, which waits for it, is destroyed before it.

TEST(elastic_pool, goes_on_while_many_tasks_block) {
  std::vector<std::unique_ptr<blocking_task>> blocked;
  std::vector<std::function<void()>> tasks;
  for (int each = 0; each < 20; ++each) {
    blocked.push_back(std::make_unique<blocking_task>());
    tasks.push_back(blocked.back()->task());
  }
  std::promise<void> last;
  tasks.emplace_back([&] { last.set_value(); });
  elastic_pool pool;
  pool.post(std::move(tasks));
  EXPECT_EQ(last.get_future().wait_for(hang), std::future_status::ready);
  for (const auto& each : blocked) {
    EXPECT_TRUE(each->begins());
    each->end();
  }
}

TEST(elastic_pool, goes_on_with_what_is_posted_behind_a_task_that_blocks) {
  blocking_task first;
  std::promise<void> second;
  elastic_pool pool;
  pool.post({first.task()});
  EXPECT_TRUE(first.begins());
  pool.post({[&] { second.set_value(); }});
  EXPECT_EQ(second.get_future().wait_for(hang), std::future_status::ready);
  first.end();
}

TEST(elastic_pool, runs_everything_before_it_ends) {
  std::atomic<int> done = 0;
  elastic_pool pool;
  for (int each = 0; each < 50; ++each) {
    pool.post({[&] {
      ++done;
      pool.post({[&] { ++done; }});
    }});
  }
  pool.finish();
  EXPECT_EQ(done, 100);
  pool.post({[&] { ++done; }});
  EXPECT_EQ(done, 101) << "a task that comes later runs at once";
  pool.finish();
}

TEST(elastic_pool, runs_tasks_without_a_thread_that_watches) {
  std::atomic<int> done = 0;
  std::promise<void> all;
  elastic_pool pool;
  const test::no_threads none;
  pool.post({[&] { ++done; }, [&] { ++done; }, [&] { all.set_value(); }});
  ASSERT_EQ(all.get_future().wait_for(hang), std::future_status::ready);
  EXPECT_EQ(done, 2);
}

TEST(elastic_pool, needs_a_thread) {
  const test::no_threads none;
  try {
    const elastic_pool pool;
    FAIL();
  } catch (const error& failed) {
    EXPECT_EQ(failed.code(), errc::exhausted);
  }
}

}  // namespace
}  // namespace holdfast::runtime
