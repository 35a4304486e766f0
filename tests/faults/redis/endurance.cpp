// Many clients one after the other, and nothing that grows with them, on either side.

#include <cstdio>
#include <thread>

#include "faults/faults.hpp"
#include "support/amount.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool counts_memory = false;  // a sanitizer keeps what was freed
#else
constexpr bool counts_memory = true;
#endif

struct both_sides {
  long resident_kib = 0;
  int descriptors = 0;
  int threads = 0;
  long server_descriptors = 0;
  std::int64_t clients = 0;
  std::int64_t scripts = 0;
  std::string keys;
  std::string channels;
};

class redis_endurance : public testing::Test {
 protected:
  /// Once the server has seen the last of them go.
  both_sides look() {
    both_sides now;
    EXPECT_EQ(std::sscanf(other_.ask("usage").c_str(), "usage %ld %d %d", &now.resident_kib, &now.descriptors,
                          &now.threads),
              3);
    await([&] { return server_.info("connected_clients") == 1; }, "connections stay");
    now.clients = server_.info("connected_clients");
    now.scripts = server_.info("number_of_cached_scripts");
    now.keys = server_.ask({"KEYS", "*"});
    now.channels = server_.ask({"PUBSUB", "CHANNELS"});
    now.server_descriptors = std::distance(
        std::filesystem::directory_iterator{"/proc/" + std::to_string(server_.pid()) + "/fd"}, {});
    return now;
  }

  test::redis_server server_;
  actor other_;
};

TEST_F(redis_endurance, ten_thousand_clients_leave_nothing_behind) {
  const int cycles = counts_memory ? test::amount(600, 10'000) : 1'000;
  ASSERT_EQ(other_.ask("clients " + server_.url() + ' ' + std::to_string(test::amount(200, 500))), "cycled");
  const auto before = look();
  const auto memory_before = server_.info("used_memory");
  ASSERT_EQ(other_.ask("clients " + server_.url() + ' ' + std::to_string(cycles), 150s), "cycled");
  const auto after = look();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  if (counts_memory) {
    EXPECT_LE(after.resident_kib, before.resident_kib + 1024);
  }
  EXPECT_EQ(after.server_descriptors, before.server_descriptors);
  EXPECT_EQ(after.scripts, before.scripts);
  EXPECT_EQ(after.keys, before.keys);
  EXPECT_EQ(after.channels, "");
  EXPECT_LE(server_.info("used_memory"), memory_before + 1'000'000);
}

}  // namespace
}  // namespace holdfast::faults
