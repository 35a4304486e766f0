// SPDX-License-Identifier: Apache-2.0
// Everybody at once on one name, for HOLDFAST_CONTENTION_SECONDS seconds (4 by default): our clients that
// block, our asynchronous ones, our command, redis-py and redlock. The witness is no lock: it loses counts
// when two are inside at once.

#include <future>
#include <gmock/gmock.h>
#include <map>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "interop/contention.hpp"
#include "interop/redis_libraries.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/witness.hpp"
#include <holdfast/async.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// What each of ours has to do elsewhere between its turns: without it the queue would never be empty, and
// those who stand in no queue would never be served.
constexpr int errands = 64;

std::int64_t block(const place& here, const std::string& errand) {
  client locks{here.url};
  mutex stock{locks, "stock"};
  mutex elsewhere{locks, errand};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
    const auto held = stock.acquire();
    inside.visit(mode::exclusive, held.token());
    held.held() ? void() : ADD_FAILURE() << "lost without reason";
    for (int turn = 0; turn < errands; ++turn) std::scoped_lock busy{elsewhere};
  }
  return turns;
}

asio::awaitable<std::int64_t> await(client& locks, const place& here, std::string errand) {
  mutex stock{locks, "stock"};
  mutex elsewhere{locks, errand};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  while (here.open(turns)) {
    lease held = co_await stock.async_acquire(asio::use_awaitable);
    inside.visit(mode::exclusive, held.token());
    co_await async_release(std::move(held), asio::use_awaitable);
    for (int turn = 0; turn < errands; ++turn) {
      lease busy = co_await elsewhere.async_acquire(asio::use_awaitable);
      co_await async_release(std::move(busy), asio::use_awaitable);
    }
    ++turns;
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
    for (int turn = 0; turn < errands / 8; ++turn) {  // each of these takes as long as many of the others'
      test::child_process errand{{HOLDFAST_COMMAND, "run", "command's", "--store", here.url, "--", "true"},
                                 {}};
      EXPECT_EQ(errand.wait(60s), 0);
    }
  }
  return turns;
}

TEST(redis_contention, of_all_kinds_of_clients_never_meets_inside_and_is_served) {
  test::redis_server server;
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  std::vector<std::unique_ptr<client_process>> others;
  for (int each = 0; each < 2; ++each) others.push_back(std::make_unique<redis_py>(server));
  for (int each = 0; each < 2; ++each) others.push_back(std::make_unique<redlock>(server));

  const auto length = contention_time();
  const place here{server.url("?prefix="), folder.file("witness"), boot_clock::now() + length};
  for (const auto& each : others) {
    // Who stands in no queue gets in where the queue is empty, and may have to wait until ours are gone.
    each->tell("contend stock " + here.file + ' ' + std::to_string((length + 2s).count()));
  }
  std::map<std::string, std::future<std::int64_t>> turns;
  for (const std::string name : {"blocking 1", "blocking 2"}) {
    turns[name] = std::async(std::launch::async, [&here, name] { return block(here, name); });
  }
  turns["command"] = std::async(std::launch::async, [&here] { return command(here); });
  asio::thread_pool loop{1};
  client awaiting{here.url};
  for (const std::string name : {"async 1", "async 2"}) {
    turns[name] = asio::co_spawn(loop, await(awaiting, here, name), asio::use_future);
  }

  std::int64_t total = 0;
  const auto served = [&](const std::string& name, std::int64_t count) {
    EXPECT_GE(count, least_turns) << name << " was hardly served";
    std::cout << name << ": " << count << " turns\n";
    total += count;
  };
  for (auto& [name, count] : turns) {
    ASSERT_EQ(count.wait_for(length + 60s), std::future_status::ready) << name << " hangs";
    served(name, count.get());
  }
  for (std::size_t each = 0; each < others.size(); ++each) {
    served(each < 2 ? "redis-py" : "redlock", turns_in(others[each]->hear()));
  }
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.count(), total);
  EXPECT_EQ(witness.fragile_count(), total);
}

}  // namespace
}  // namespace holdfast::interop
