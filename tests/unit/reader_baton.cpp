#include "runtime/reader_baton.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "runtime/wakeup_fd.hpp"

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

bool eventually(const auto& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

// With hundreds of clients on a few processors, a caller may wait for seconds until it runs. The threads of
// these clients took the processors from them: each asked again and again whether it may listen.
TEST(reader_baton, the_background_sleeps_while_a_caller_was_called_and_has_not_run) {
  runtime::wakeup_fd wakeup_fd;
  runtime::reader_baton who{wakeup_fd.descriptor()};
  store::caller caller;
  ASSERT_TRUE(who.take_in_background());
  ASSERT_FALSE(who.take(caller));
  EXPECT_TRUE(who.has_to_give_way());
  who.leave();  // the caller is called

  std::atomic<pid_t> thread = 0;
  std::atomic<std::uint64_t> rounds = 0;
  std::jthread background{[&] {
    thread = ::gettid();
    do {
      ++rounds;
      who.rest();
    } while (!who.take_in_background());
    who.leave();
  }};
  EXPECT_TRUE(eventually([&] { return thread != 0 && sleeps(thread); }));
  EXPECT_LE(rounds, 2U);

  // It listens again when the caller has come and gone.
  ASSERT_TRUE(who.take(caller));
  who.leave();
  who.retire(caller);
  background.join();
}

// The connection breaks under blocked callers. None of them can connect anew.
TEST(reader_baton, the_background_is_woken_to_connect_while_callers_wait) {
  runtime::wakeup_fd wakeup_fd;
  runtime::reader_baton who{wakeup_fd.descriptor()};
  store::caller caller;
  ASSERT_TRUE(who.take_in_background());
  ASSERT_FALSE(who.take(caller));
  who.leave();  // the caller is called, and there is no connection that it could listen to
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> is_over = false;
  std::jthread background{[&] {
    thread = ::gettid();
    who.rest();
    is_over = true;
  }};
  ASSERT_TRUE(eventually([&] { return thread != 0 && sleeps_deeply(thread); }));
  who.wake();
  EXPECT_TRUE(eventually([&] { return is_over.load(); }));
  who.retire(caller);  // lets it go where the test fails
}

TEST(reader_baton, a_caller_that_was_called_in_vain_is_called_again) {
  runtime::wakeup_fd wakeup_fd;
  runtime::reader_baton who{wakeup_fd.descriptor()};
  store::caller caller;
  std::atomic<bool> connected = false;
  ASSERT_TRUE(who.take_in_background());
  ASSERT_FALSE(who.take(caller));
  std::atomic<bool> waits = false;
  std::atomic<bool> led = false;
  std::jthread blocked{[&] {
    who.serve(
        caller,
        [&] {
          waits = true;
          return connected.load();
        },
        [&] {
          led = true;
          caller.serve();
        });
  }};
  ASSERT_TRUE(eventually([&] { return waits.load(); }));
  who.leave();  // calls it, and it can do nothing yet
  connected = true;
  who.rest();  // the thread that has connected; it comes back when the caller has gone
  EXPECT_TRUE(led);
}

}  // namespace
}  // namespace holdfast::test
