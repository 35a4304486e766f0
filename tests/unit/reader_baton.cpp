// SPDX-License-Identifier: Apache-2.0
#include "runtime/reader_baton.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <poll.h>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "runtime/wakeup_fd.hpp"
#include "unit/comes_true.hpp"

namespace holdfast::test {
namespace {

bool sleeps(pid_t thread) {
  std::ifstream stat{"/proc/self/task/" + std::to_string(thread) + "/stat"};
  std::string text;
  std::getline(stat, text);
  const auto name_end = text.rfind(") ");
  return name_end != text.npos && text[name_end + 2] == 'S';
}

/// How often it has gone to sleep.
std::string naps(pid_t thread) {
  std::ifstream status{"/proc/self/task/" + std::to_string(thread) + "/status"};
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("voluntary_ctxt_switches")) return line;
  }
  return {};
}

/// It does not wake by itself any more.
bool sleeps_deeply(pid_t thread) {
  const auto before = naps(thread);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  return naps(thread) == before;
}

class reader_baton : public testing::Test {
 protected:
  /// A caller asks to read while the background does. What follows has to leave the baton.
  void ask_for_it() {
    ASSERT_TRUE(baton_.take_in_background());
    ASSERT_FALSE(baton_.take(caller_));
    EXPECT_TRUE(baton_.has_to_give_way());
  }

  runtime::wakeup_fd wakeup_;
  runtime::reader_baton baton_{wakeup_.descriptor()};
  store::caller caller_;
};

// With hundreds of clients on a few processors, a caller may wait for seconds until it runs. The threads of
// these clients took the processors from them: each asked again and again whether it may listen.
TEST_F(reader_baton, the_background_sleeps_while_a_caller_was_called_and_has_not_run) {
  ask_for_it();
  baton_.leave();  // the caller is called

  std::atomic<pid_t> thread = 0;
  std::atomic<std::uint64_t> rounds = 0;
  std::jthread background{[&] {
    thread = ::gettid();
    do {
      ++rounds;
      baton_.rest();
    } while (!baton_.take_in_background());
    baton_.leave();
  }};
  EXPECT_TRUE(comes_true([&] { return thread != 0 && sleeps(thread); }));
  EXPECT_LE(rounds, 2U);

  // It listens again when the caller has come and gone.
  ASSERT_TRUE(baton_.take(caller_));
  baton_.leave();
  baton_.retire(caller_);
  background.join();
}

// The connection breaks under blocked callers. None of them can connect anew.
TEST_F(reader_baton, the_background_is_woken_to_connect_while_callers_wait) {
  ask_for_it();
  baton_.leave();  // the caller is called, and there is no connection that it could listen to
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> is_over = false;
  std::jthread background{[&] {
    thread = ::gettid();
    baton_.rest();
    is_over = true;
  }};
  ASSERT_TRUE(comes_true([&] { return thread != 0 && sleeps_deeply(thread); }));
  baton_.wake();
  EXPECT_TRUE(comes_true([&] { return is_over.load(); }));
  baton_.retire(caller_);  // lets it go where the test fails
}

TEST_F(reader_baton, a_caller_that_is_dismissed_returns_without_its_result) {
  ASSERT_TRUE(baton_.take_in_background());
  {
    const std::jthread waits{[&] { baton_.serve(caller_, [] { return true; }, [] {}); }};
    caller_.dismiss();
  }
  baton_.leave();
  EXPECT_TRUE(caller_.is_served() && caller_.is_dismissed());
  caller_.serve();
  caller_.dismiss();
  EXPECT_FALSE(caller_.is_dismissed()) << "its result is there";

  store::caller polling;
  ASSERT_TRUE(polling.begin_polling(wakeup_.descriptor()));
  polling.dismiss();
  ::pollfd readable{wakeup_.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  EXPECT_FALSE(polling.begin_polling(wakeup_.descriptor()));
}

TEST_F(reader_baton, an_urgent_caller_is_called_before_those_that_wait) {
  store::caller waiting;
  store::caller urgent;
  ASSERT_TRUE(baton_.take(caller_));
  ASSERT_FALSE(baton_.take(waiting));
  ASSERT_FALSE(baton_.take(urgent, true));
  baton_.leave();
  urgent.wait();  // it is called
  ASSERT_TRUE(baton_.take(urgent));
  baton_.retire(waiting);
  baton_.leave();
}

TEST_F(reader_baton, a_caller_that_was_called_in_vain_is_called_again) {
  std::atomic<bool> connected = false;
  std::atomic<bool> waits = false;
  std::atomic<bool> led = false;
  ask_for_it();
  std::jthread blocked{[&] {
    baton_.serve(
        caller_,
        [&] {
          waits = true;
          return connected.load();
        },
        [&] {
          led = true;
          caller_.serve();
        });
  }};
  ASSERT_TRUE(comes_true([&] { return waits.load(); }));
  baton_.leave();  // calls it, and it can do nothing yet
  connected = true;
  baton_.rest();  // the thread that has connected; it comes back when the caller has gone
  EXPECT_TRUE(led);
}

/// Callers that come and go at random, and a background that reads between them. The reader serves one after
/// another of those that wait, as replies come in.
class baton_schedule {
 public:
  explicit baton_schedule(unsigned seed) : seed_{seed} {}

  void run() {
    std::jthread background{[this] { read_in_background(); }};
    {
      std::vector<std::jthread> callers;
      for (unsigned i = 0; i < 4; ++i) callers.emplace_back([this, i] { call_often(i); });
    }
    is_over_ = true;
    baton_.ring();
    baton_.wake();
  }

 private:
  void call_often(unsigned thread) {
    std::mt19937 random{seed_ * 4 + thread};
    for (int round = 0; round < 100; ++round) {
      const auto caller = std::make_shared<store::caller>();
      {
        const std::lock_guard hold{mutex_};
        waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(random() % (waiting_.size() + 1)),
                        caller);
      }
      baton_.serve(*caller, [] { return true; }, [&] { read([&] { return caller->is_served(); }); });
      EXPECT_TRUE(caller->is_served());
      if (random() % 8 == 0) std::this_thread::yield();
    }
  }
  void read_in_background() {
    while (!is_over_) {
      baton_.rest();
      if (is_over_ || !baton_.take_in_background()) continue;
      read([this] { return is_over_ || baton_.has_to_give_way(); });
      baton_.leave();
    }
  }
  void read(const auto& is_done) {
    EXPECT_EQ(readers_.fetch_add(1), 0);
    while (!is_done()) serve_next();
    --readers_;
  }
  void serve_next() {
    std::shared_ptr<store::caller> next;
    {
      const std::lock_guard hold{mutex_};
      if (waiting_.empty()) return;
      next = waiting_.back();
      waiting_.pop_back();
    }
    next->serve();
  }

  const unsigned seed_;
  runtime::wakeup_fd wakeup_;
  runtime::reader_baton baton_{wakeup_.descriptor()};
  std::mutex mutex_;
  std::vector<std::shared_ptr<store::caller>> waiting_;
  std::atomic<int> readers_ = 0;
  std::atomic<bool> is_over_ = false;
};

TEST(reader_baton_random, one_thread_reads_at_a_time_and_every_caller_is_served) {
  for (unsigned seed = 0; seed < 20; ++seed) baton_schedule{seed}.run();
}

}  // namespace
}  // namespace holdfast::test
