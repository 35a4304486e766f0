// SPDX-License-Identifier: Apache-2.0
// fork() while SQLite is at work: a child must not inherit its mutexes locked.

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "holdfast/error.hpp"
#include "runtime/event_loop.hpp"
#include "stores/sqlite/link/fork_guard.hpp"
#include "stores/sqlite/link/link.hpp"
#include "support/scratch_folder.hpp"
#include "unit/no_threads.hpp"

namespace holdfast::sqlite {
namespace {

using namespace std::chrono_literals;

/// A fork() on a thread of its own. The child ends at once.
class forking {
 public:
  forking() {
    std::promise<void> promise;
    done_ = promise.get_future();
    std::thread{[done = std::move(promise)]() mutable {
      const ::pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      ::waitpid(child, nullptr, 0);
      done.set_value();
    }}.detach();
  }
  [[nodiscard]] bool ends_within(std::chrono::milliseconds limit) const {
    return done_.wait_for(limit) == std::future_status::ready;
  }

 private:
  std::future<void> done_;
};

constexpr auto moment = 300ms;  // long enough for a fork() that does not wait
constexpr auto hang = 30s;

class sqlite_fork : public testing::Test {
 protected:
  sqlite_fork() {
    settings_.path = folder_.file("locks.db");
    settings_.names = sql::naming{"", "locks", '"'};
    settings_.opening_limit = 30s;
    const database made{settings_};
  }

  test::scratch_folder folder_;
  database::settings settings_;
  runtime::event_loop loop_;
};

TEST_F(sqlite_fork, waits_while_a_link_opens_its_database) {
  std::optional<forking> begun;
  settings_.lease_clock = [&] {  // read in the middle of it
    if (!begun) {
      begun.emplace();
      EXPECT_FALSE(begun->ends_within(moment));
    }
    return boot_clock::now();
  };
  link opened{loop_, settings_, [] {}};
  ASSERT_TRUE(begun);
  EXPECT_TRUE(begun->ends_within(hang));
  opened.shut();
}

TEST_F(sqlite_fork, waits_while_a_database_is_read_without_a_link) {
  std::optional<forking> begun;
  {
    const annotated::lock read{fork_guard::reading()};
    begun.emplace();
    EXPECT_FALSE(begun->ends_within(moment));
  }
  EXPECT_TRUE(begun->ends_within(hang));
}

// As a mutex, the bytes that are written over the link are one that is locked for ever.
TEST_F(sqlite_fork, knows_nothing_of_a_link_whose_thread_could_not_be_made) {
  alignas(link) std::array<std::byte, sizeof(link)> place{};
  {
    const test::no_threads none;
    EXPECT_THROW(static_cast<void>(new (place.data()) link{loop_, settings_, [] {}}), error);
  }
  place.fill(std::byte{1});
  EXPECT_TRUE(forking{}.ends_within(hang));
}

}  // namespace
}  // namespace holdfast::sqlite
