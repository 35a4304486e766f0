// Something that answers, and is no Redis server, or not in its right mind: an error within the caller's
// patience, whatever the bytes.

#include <algorithm>
#include <random>

#include "support/canned_server.hpp"
#include "weather/weather.hpp"

namespace holdfast::weather {
namespace {

using test::canned_server;

std::vector<std::string> hostile() {
  std::string nested;
  for (int depth = 0; depth < 20'000; ++depth) nested += "*1\r\n";
  std::vector<std::string> all{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
                               "SSH-2.0-OpenSSH_9.2p1\r\n",
                               "",
                               "\r\n",
                               "+OK\r\n",
                               ":1\r\n",
                               "$-1\r\n",
                               "*-1\r\n",
                               "_\r\n",
                               "$-2\r\n",
                               "$9223372036854775807\r\nx",
                               "$99999999999999999999999\r\nx",
                               "*9223372036854775807\r\n",
                               "*1000000000\r\n:1\r\n",
                               "%9223372036854775807\r\n",
                               "%1\r\n+a\r\n",
                               "-\r\n",
                               "-ERR unknown command 'HELLO'\r\n",
                               "-NOPROTO unsupported protocol version\r\n",
                               ">0\r\n",
                               ">3\r\n+message\r\n+x\r\n+y\r\n",
                               ">1\r\n>1\r\n>1\r\n",
                               "|1\r\n+k\r\n+v\r\n",
                               ":99999999999999999999999\r\n",
                               ",nan\r\n",
                               "#x\r\n",
                               "(1e5\r\n",
                               "=3\r\nx\r\n",
                               "!5\r\nERR x\r\n",
                               std::string(100'000, 'a'),
                               std::string(1'000, '\0'),
                               nested};
  std::mt19937 random{20261120};
  for (int each = 0; each < 10; ++each) {
    std::string bytes{"+-:$*_#,(!=%~>|.\r\n0123456789\xff"};
    for (int more = 0; more < 200; ++more) bytes += bytes[random() % 30];
    std::shuffle(bytes.begin(), bytes.end(), random);
    all.push_back(bytes);
  }
  return all;
}

TEST(redis_bytes, that_no_server_sends_end_in_an_error) {
  for (const auto afterwards : {canned_server::then::stay, canned_server::then::close}) {
    for (const auto& bytes : hostile()) {
      canned_server server{bytes, afterwards};
      const auto url =
          "redis://127.0.0.1:" + std::to_string(server.port()) + "?connect_timeout=60ms&answer_timeout=100ms";
      const auto before = boot_clock::now();
      const auto failed = failure_of([&] {
        client locks{url, client_options{}.flush_limit(0ms).locks(
                              lock_options{}.retry(retry_policy{}.limit(60ms).longest(20ms)))};
        mutex{locks, "stock"}.lock();
      });
      EXPECT_TRUE(failed.code == errc::unavailable || failed.code == errc::corrupt_store ||
                  failed.code == errc::unknown_outcome)
          << testing::PrintToString(bytes.substr(0, 60)) << ": " << failed.text;
      EXPECT_LT(boot_clock::now() - before, 20s) << testing::PrintToString(bytes.substr(0, 60));
    }
  }
}

}  // namespace
}  // namespace holdfast::weather
