// SPDX-License-Identifier: Apache-2.0
// Several independent servers: our clients, our command and other libraries' clients on one name, until they
// were inside HOLDFAST_SECTIONS times in all. The witness is no lock: it loses counts when two are inside at
// once.

#include <future>
#include <thread>

#include "interop/contention.hpp"
#include "interop/redis_libraries.hpp"
#include "support/child_process.hpp"
#include "support/scratch_folder.hpp"
#include "support/witness.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::interop {
namespace {

using namespace std::chrono_literals;

constexpr int ours = 2;
constexpr auto limit = 10min;  // who raises the number of sections has time

/// HOLDFAST_SECTIONS, or what takes no more than half a minute.
std::int64_t sections_or(std::int64_t usual) {
  const char* raised = std::getenv("HOLDFAST_SECTIONS");
  return raised != nullptr ? std::atoll(raised) : usual;
}

class quorum_contention : public testing::Test {
 protected:
  template <class Library>
  void start(const std::string& name, std::int64_t sections) {
    auto process = std::make_unique<Library>(sockets_of(quorum_));
    process->tell("contend redlock:stock " + file_ + " 0 every=10 sections=" + std::to_string(sections));
    others_.emplace_back(name, std::move(process));
  }

  /// Contends with those that were started. Prints what everybody got.
  void run(std::int64_t sections);

 private:
  [[nodiscard]] bool is_open(std::int64_t turns, std::int64_t sections) const {
    return turns < least_turns || witness_.count() < sections;
  }
  std::int64_t contend(int number, std::int64_t sections);
  std::int64_t command(std::int64_t sections);

  test::redis_quorum quorum_;
  test::scratch_folder folder_;
  std::string url_ = quorum_.url("?prefix=redlock:");
  std::string file_ = folder_.file("witness");
  test::witness witness_{file_};
  std::vector<std::pair<std::string, std::unique_ptr<client_process>>> others_;
};

/// What it has to do elsewhere between its turns leaves the name to those that stand in no queue.
std::int64_t quorum_contention::contend(int number, std::int64_t sections) {
  client locks{url_};
  mutex stock{locks, "stock"};
  mutex elsewhere{locks, "errand " + std::to_string(number)};
  test::witness inside{file_};
  std::int64_t turns = 0;
  for (; is_open(turns, sections); ++turns) {
    const auto held = stock.acquire();
    inside.visit(mode::exclusive, held.token());
    held.held() ? void() : ADD_FAILURE() << "lost without reason";
    for (int errand = 0; errand < 16; ++errand) std::scoped_lock busy{elsewhere};
  }
  return turns;
}

std::int64_t quorum_contention::command(std::int64_t sections) {
  std::int64_t turns = 0;
  for (; is_open(turns, sections); ++turns) {
    test::child_process run{{HOLDFAST_COMMAND, "run", "stock", "--store", url_, "--", "sh", "-c",
                             "echo visit " + file_ + " | " HOLDFAST_TEST_ACTOR},
                            {}};
    EXPECT_EQ(run.wait(60s), 0);
  }
  return turns;
}

void quorum_contention::run(std::int64_t sections) {
  const auto begin = boot_clock::now();
  std::vector<std::pair<std::string, std::future<std::int64_t>>> running;
  for (int number = 0; number < ours; ++number)
    running.emplace_back("holdfast",
                         std::async(std::launch::async, [&, number] { return contend(number, sections); }));
  running.emplace_back("holdfast run", std::async(std::launch::async, [&] { return command(sections); }));

  std::vector<std::pair<std::string, std::int64_t>> turns;
  for (auto& [name, count] : running) turns.emplace_back(name, count.get());
  std::string overdue;
  for (auto& [name, process] : others_) {
    const auto answer = process->hear(limit);
    turns.emplace_back(name, turns_in(answer));
    if (answer.find("overdue=") != std::string::npos) overdue = name + " " + answer;
  }
  std::int64_t total = 0;
  for (const auto& [name, count] : turns) total += count;
  std::cout << total << " sections in " << std::chrono::duration<double>(boot_clock::now() - begin).count()
            << " s\n";
  for (const auto& [name, count] : turns) {
    std::cout << name << ": " << count << " sections, " << 100 * count / total << " %\n";
    EXPECT_GE(count, least_turns) << name << " was hardly served";
  }
  EXPECT_GE(total, sections);
  if (!overdue.empty()) GTEST_SKIP() << "the machine stood still for longer than its lock lasts: " << overdue;
  EXPECT_EQ(witness_.overlaps(), 0);
  EXPECT_EQ(witness_.count(), total);
  EXPECT_EQ(witness_.fragile_count(), total);
}

// Where redsync is missing, this is the only run of node-redlock.
TEST_F(quorum_contention, with_redlock_never_meets_inside_and_is_served) {
  const std::int64_t sections = sections_or(redsync::is_there() ? 500 : 2000);
  for (int each = 0; each < 2; ++each) start<redlock>("redlock", sections);
  run(sections);
}

TEST_F(quorum_contention, with_redlock_and_redsync_never_meets_inside_and_is_served) {
  if (!redsync::is_there()) GTEST_SKIP() << redsync::is_missing;
  const std::int64_t sections = sections_or(2000);
  for (int each = 0; each < 2; ++each) {
    start<redlock>("redlock", sections);
    start<redsync>("redsync", sections);
  }
  run(sections);
}

TEST_F(quorum_contention, with_pottery_never_meets_inside_and_is_served) {
  const std::int64_t sections = sections_or(500);
  start<pottery>("pottery", sections);
  run(sections);
}

}  // namespace
}  // namespace holdfast::interop
