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
  EXPECT_TRUE(eventually([&] { return thread != 0 && sleeps(thread); }));
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
  ASSERT_TRUE(eventually([&] { return thread != 0 && sleeps_deeply(thread); }));
  baton_.wake();
  EXPECT_TRUE(eventually([&] { return is_over.load(); }));
  baton_.retire(caller_);  // lets it go where the test fails
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
  ASSERT_TRUE(eventually([&] { return waits.load(); }));
  baton_.leave();  // calls it, and it can do nothing yet
  connected = true;
  baton_.rest();  // the thread that has connected; it comes back when the caller has gone
  EXPECT_TRUE(led);
}

}  // namespace
}  // namespace holdfast::test
