// SPDX-License-Identifier: Apache-2.0
// Clients that poll the key beside a queue of ours that is never empty: they and ours are served. Ours go on
// until each of the others was inside three times, and for twice HOLDFAST_CONTENTION_SECONDS seconds.

#include <atomic>
#include <future>
#include <thread>

#include "interop/contention.hpp"
#include "interop/redis_libraries.hpp"
#include "support/scratch_folder.hpp"
#include "support/witness.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

constexpr int ours = 4;
constexpr auto starvation = 2min;  // three turns take a second, and those of a loaded machine some seconds

/// A section of a millisecond, as the others have it. Goes on until it is told that the others have ended.
std::int64_t contend(const place& here, const std::atomic<bool>& others_have_ended) {
  client locks{here.url};
  mutex stock{locks, "stock"};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; turns < least_turns || !others_have_ended; ++turns) {
    const auto held = stock.acquire();
    inside.visit(mode::exclusive, held.token());
    std::this_thread::sleep_for(1ms);
  }
  return turns;
}

/// Polls as its library does by default: every 100 ms (redis-py; redislock in its README), or every 100 to
/// 300 ms (redlock).
template <class Library>
std::unique_ptr<client_process> poll(const test::redis_server& server, const place& here, std::string every) {
  auto process = std::make_unique<Library>(server);
  const auto length = std::chrono::duration_cast<std::chrono::milliseconds>(here.end - boot_clock::now());
  process->tell("contend stock " + here.file + ' ' + std::to_string(length.count()) + " every=" + every);
  return process;
}

TEST(redis_fairness, polling_clients_and_a_queue_are_all_served) {
  test::redis_server server;
  const test::scratch_folder folder;
  const test::witness witness{folder.file("witness")};
  const place here{server.url("?prefix="), folder.file("witness"), boot_clock::now() + 2 * contention_time()};
  std::vector<std::pair<std::string, std::unique_ptr<client_process>>> others;
  for (int each = 0; each < 2; ++each) {
    others.emplace_back("redis-py", poll<redis_py>(server, here, "100"));
    others.emplace_back("redlock", poll<redlock>(server, here, "200"));
  }
  // They are there before ours: a client that was never seen to hold is not known of.
  while (witness.count() == 0) std::this_thread::yield();
  std::atomic<bool> others_have_ended = false;
  std::vector<std::future<std::int64_t>> queue;
  for (int each = 0; each < ours; ++each) {
    queue.push_back(std::async(std::launch::async, [&] { return contend(here, others_have_ended); }));
  }

  std::vector<std::pair<std::string, std::int64_t>> turns;
  // One that starves does not answer, however long the queue goes on.
  for (auto& [name, each] : others) turns.emplace_back(name, turns_in(each->hear(starvation)));
  others_have_ended = true;
  for (auto& each : queue) turns.emplace_back("holdfast", each.get());
  std::int64_t total = 0;
  for (const auto& [name, count] : turns) total += count;
  for (const auto& [name, count] : turns) {
    // How many turns depends on when the machine wakes a client that sleeps. On a quiet one each has more
    // than a tenth of its share; without a moment left free, pollers have none.
    std::cout << name << ": " << count << " turns, " << count * std::ssize(turns) / double(total)
              << " of its share\n";
    EXPECT_GE(count, least_turns) << name << " starves";
  }
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), total);
}

}  // namespace
}  // namespace holdfast::interop
