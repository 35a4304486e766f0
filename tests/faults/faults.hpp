// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "support/actor.hpp"
#include "support/failing.hpp"
#include "support/scratch_folder.hpp"
#include "support/stall_meter.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::faults {

using namespace std::chrono_literals;
using test::actor;
using test::code_in;
using test::despite_stalls;
using test::failing;
using test::failure_of;
using test::is_unanswered;
using test::token_in;

inline std::string bytes_of(const std::string& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

inline void write_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

/// What it fails with in the end. A machine that stalls may let the wait_limit end between a request and its
/// answer, and then the outcome is not known: that is asked again.
template <class Call>
failing known_failure_of(Call call) {
  auto failed = failure_of(call);
  while (failed.code == errc::unknown_outcome) failed = failure_of(call);
  return failed;
}

/// Patience for tests that want to see a failure soon.
inline lock_options hasty() { return lock_options{}.retry(retry_policy{}.limit(3s).longest(50ms)); }

/// Patience of somebody who waits for a server to come back.
inline lock_options patient() { return lock_options{}.retry(retry_policy{}.limit(60s)); }
/// Patience that outlives any test. A call that fails at all with it has not been tried until its end: it was
/// refused for good. One that waits for something else never comes back, and the limit of the test ends it.
inline lock_options endless() { return lock_options{}.retry(retry_policy{}.limit(24h)); }

/// Whether it is so in time. A poll, and one that leaves others the cores: what is waited for here is known
/// to servers and other processes, which tell nobody.
template <class Condition>
bool comes_true(Condition is_so, duration within = 60s) {
  const auto wait_limit = boot_clock::now() + within;
  while (!is_so()) {
    if (boot_clock::now() > wait_limit) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}
/// Until it is so; not for ever.
template <class Condition>
void await(Condition is_so, const char* otherwise) {
  EXPECT_TRUE(comes_true(is_so)) << otherwise;
}

/// Through connections lost and made again.
inline renewal renew(lease& held) {
  auto answer = held.renew();
  while (answer == renewal::unknown) answer = held.renew();
  return answer;
}

/// Until somebody stands in the lock's queue.
inline void expect_waiter(const client& locks) {
  await([&] { return !locks.inspect("stock").value_or(lock_state{}).waiters.empty(); }, "nobody waits");
}

/// Another process that has a client.
/// \param options as of an actor's line "open".
inline std::unique_ptr<actor> start(const std::string& url, const std::string& options = {}) {
  auto other = std::make_unique<actor>();
  EXPECT_EQ(other->ask("open " + url + ' ' + options), "open");
  return other;
}

/// What it says next but for "lost CODE TEXT", which may come in between at any time.
inline std::string hear_answer(actor& other) {
  std::string line = other.hear();
  while (line.starts_with("lost ")) line = other.hear();
  return line;
}

/// The token of "held TOKEN", which it says next; zero, and the test fails, for any other answer.
inline fencing_token hear_token(actor& other) {
  const std::string answer = hear_answer(other);
  EXPECT_TRUE(token_in(answer)) << answer;
  return token_in(answer);
}

/// When, and why, a lease is lost.
class loss {
 public:
  explicit loss(lease& of) {
    of.on_lost(
        [promise = promise_](std::error_code reason) { promise->set_value({boot_clock::now(), reason}); });
  }
  struct notification {
    boot_clock::time_point when;
    std::error_code reason;
  };
  notification wait() {
    if (notification_.wait_for(60s) == std::future_status::ready) return notification_.get();
    ADD_FAILURE() << "nobody says that the lease is lost";
    return {};
  }
  /// Waits, and expects to be told that it is lost. That this is by its deadline is shown where time is
  /// virtual: by core's `keeper.*` and `lease_events.*`, and by the simulator's witness.
  void expect_told() { EXPECT_EQ(wait().reason, errc::lost); }
  /// The same by then, or as late as this machine wakes its threads. `meter` has run since before.
  void expect_by(boot_clock::time_point due, const test::stall_meter& meter) {
    const notification received = wait();
    EXPECT_EQ(received.reason, errc::lost);
    EXPECT_LE(received.when, due + meter.stretched(250ms, begin_));
  }

 private:
  boot_clock::time_point begin_ = boot_clock::now();
  std::shared_ptr<std::promise<notification>> promise_ = std::make_shared<std::promise<notification>>();
  std::future<notification> notification_ = promise_->get_future();
};

}  // namespace holdfast::faults
