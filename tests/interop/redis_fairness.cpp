// Clients that poll the key beside a queue of ours that is never empty, for HOLDFAST_CONTENTION_SECONDS
// seconds (4 by default): they and ours are served.

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

/// A section of a millisecond, as the others have it.
std::int64_t contend(const place& here) {
  client locks{here.url};
  mutex stock{locks, "stock"};
  test::witness inside{here.file};
  std::int64_t turns = 0;
  for (; here.open(turns); ++turns) {
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
  std::vector<std::future<std::int64_t>> queue;
  for (int each = 0; each < ours; ++each) {
    queue.push_back(std::async(std::launch::async, [&] { return contend(here); }));
  }

  std::vector<std::pair<std::string, std::int64_t>> turns;
  for (auto& each : queue) turns.emplace_back("holdfast", each.get());
  for (auto& [name, each] : others) turns.emplace_back(name, turns_in(each->hear()));
  std::int64_t total = 0;
  for (const auto& [name, count] : turns) total += count;
  for (const auto& [name, count] : turns) {
    // How many turns depends on when the machine wakes a client that sleeps. On a quiet one each has more
    // than a tenth of its share; without a moment left free, pollers have none.
    std::cout << name << ": " << count << " turns, " << count * std::ssize(turns) / double(total)
              << " of its share\n";
    EXPECT_GT(count, 0) << name << " starves";
  }
  EXPECT_EQ(witness.overlaps(), 0);
  EXPECT_EQ(witness.fragile_count(), total);
}

}  // namespace
}  // namespace holdfast::interop
