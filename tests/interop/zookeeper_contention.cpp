// SPDX-License-Identifier: Apache-2.0
// Everybody at once on one znode, for HOLDFAST_CONTENTION_SECONDS seconds (4 by default): four clients of
// Curator or kazoo and four of ours. All stand in one queue, so all are served. The witness is no lock: it
// loses counts when two are inside at once.

#include <future>
#include <gmock/gmock.h>
#include <iostream>
#include <list>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "interop/contention.hpp"
#include "interop/curator.hpp"
#include "interop/kazoo.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/witness.hpp"
#include "support/zookeeper_server.hpp"
#include <holdfast/async.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::ptrdiff_t capacity = 2;

/// Ours, by the names that the others know.
class our_lock {
 public:
  our_lock(client& locks, const std::string& kind)
      : shared_{kind == "read"},
        permit_{kind == "permit/2"},
        alone_{kind == "exclusive"},
        mutex_{locks, "stock"},
        both_{locks, "stock"},
        permits_{locks, "stock", capacity} {}

  lease acquire() {
    if (alone_) return mutex_.acquire();
    if (permit_) return permits_.acquire_permits(1);
    return shared_ ? both_.acquire_shared() : both_.acquire();
  }

  asio::awaitable<lease> async_acquire() {
    if (alone_) return mutex_.async_acquire(asio::use_awaitable);
    if (permit_) return permits_.async_acquire_permits(1, asio::use_awaitable);
    return shared_ ? both_.async_acquire_shared(asio::use_awaitable)
                   : both_.async_acquire(asio::use_awaitable);
  }

  void visit(test::witness& inside, const lease& held) const {
    const auto lock_mode = permit_ ? mode::permits : shared_ ? mode::shared : mode::exclusive;
    inside.visit(lock_mode, held.token(), 1, capacity);
    EXPECT_TRUE(held.held()) << "lost without reason";
  }

 private:
  bool shared_;
  bool permit_;
  bool alone_;
  mutex mutex_;
  shared_mutex both_;
  counting_semaphore permits_;
};

std::int64_t block(const place& here, const std::string& kind) {
  client locks{here.url};
  our_lock stock{locks, kind};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) stock.visit(inside, stock.acquire());
  return turns;
}

asio::awaitable<std::int64_t> await(const place& here, std::string kind) {
  client locks{here.url};
  our_lock stock{locks, kind};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
    lease held = co_await stock.async_acquire();
    stock.visit(inside, held);
    co_await async_release(std::move(held), asio::use_awaitable);
  }
  co_return turns;
}

std::int64_t command(const place& here) {
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
    test::child_process run{{HOLDFAST_COMMAND, "run", "stock", "--store", here.url, "--", "sh", "-c",
                             "echo visit " + here.file + " | " HOLDFAST_TEST_ACTOR},
                            {}};
    EXPECT_EQ(run.wait(60s), 0);
  }
  return turns;
}

class zookeeper_contention : public testing::Test {
 protected:
  template <class Other>
  void invite(const std::string& kind) {
    others_.push_back({std::make_unique<Other>(server_.address()), kind});
  }

  /// Ours are started by these; everybody else has started before.
  void begin(const std::string& options = {}) {
    here_ = {server_.url(options), folder_.file("witness"), boot_clock::now() + contention_time()};
    for (const auto& [other, kind] : others_) {
      other->tell("contend " + kind + " /stock " + here_.file + ' ' +
                  std::to_string(contention_time().count()));
    }
  }
  void blocking(const std::string& kind) {
    ours_.push_back({"blocking " + kind, std::async(std::launch::async, block, std::cref(here_), kind)});
  }
  void asynchronous(const std::string& kind) {
    ours_.push_back({"async " + kind, asio::co_spawn(loop_, await(here_, kind), asio::use_future)});
  }
  void commands() { ours_.push_back({"command", std::async(std::launch::async, command, std::cref(here_))}); }

  void expect_all_served_alone() {
    for (auto& [name, count] : ours_) {
      ASSERT_EQ(count.wait_for(contention_time() + 60s), std::future_status::ready) << name << " hangs";
      served(name, count.get());
    }
    for (const auto& [other, kind] : others_) served("foreign " + kind, turns_in(other->hear()));
    EXPECT_EQ(witness_.overlaps(), 0);
    EXPECT_EQ(witness_.count(), total_);
    EXPECT_EQ(witness_.fragile_count(), total_alone_);
  }

 private:
  struct other {
    std::unique_ptr<test::actor> process;
    std::string kind;
  };
  struct ours {
    std::string name;
    std::future<std::int64_t> turns;
  };

  void served(const std::string& name, std::int64_t turns) {
    EXPECT_GE(turns, least_turns) << name << " was hardly served";
    std::cout << name << ": " << turns << " turns\n";
    total_ += turns;
    if (name.ends_with("read") || name.ends_with("permit/2")) return;
    total_alone_ += turns;
  }

  test::zookeeper_server server_;
  test::scratch_folder folder_;
  test::witness witness_{folder_.file("witness")};
  place here_;
  std::list<other> others_;
  std::list<ours> ours_;
  asio::thread_pool loop_{1};
  std::int64_t total_ = 0;
  std::int64_t total_alone_ = 0;
};

TEST_F(zookeeper_contention, of_curator_and_ours_never_meets_in_a_mutex) {
  for (int each = 0; each < 4; ++each) invite<curator>("exclusive");
  begin();
  blocking("exclusive");
  blocking("exclusive");
  asynchronous("exclusive");
  commands();
  expect_all_served_alone();
}

TEST_F(zookeeper_contention, of_curator_and_ours_reads_together_and_writes_alone) {
  for (const char* kind : {"read", "read", "write", "write"}) invite<curator>(kind);
  begin();
  blocking("read");
  blocking("write");
  asynchronous("read");
  asynchronous("write");
  expect_all_served_alone();
}

TEST_F(zookeeper_contention, of_curator_and_ours_shares_the_permits_of_a_semaphore) {
  for (int each = 0; each < 4; ++each) invite<curator>("permit/2");
  begin();
  blocking("permit/2");
  blocking("permit/2");
  asynchronous("permit/2");
  asynchronous("permit/2");
  expect_all_served_alone();
}

TEST_F(zookeeper_contention, of_kazoo_and_ours_never_meets_in_a_mutex) {
  for (int each = 0; each < 4; ++each) invite<kazoo>("exclusive");
  begin("?layout=kazoo");
  blocking("exclusive");
  blocking("exclusive");
  asynchronous("exclusive");
  commands();
  expect_all_served_alone();
}

}  // namespace
}  // namespace holdfast::interop
