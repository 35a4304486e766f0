// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`, read by Prometheus of Debian's package.

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <string>
#include <utility>
#include <vector>

#include "cli/serve/fixture.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class serve_prometheus : public serve_test {
 protected:
  void start_prometheus() {
    write_file(
        file("prometheus.yml"),
        fmt::format("global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n"
                    "scrape_configs: [{{job_name: holdfast, static_configs: [{{targets: ['{}']}}]}}]\n",
                    authority()));
    prometheus_ = std::make_unique<process>(
        scratch_,
        strings{"prometheus", "--config.file=" + file("prometheus.yml"),
                "--storage.tsdb.path=" + file("series"),
                fmt::format("--web.listen-address=127.0.0.1:{}", own_port_.number()), "--log.level=warn"},
        process::settings{});
  }
  /// Whether each expression has the value beside it, now. One scrape that is late takes all values away for
  /// a while.
  [[nodiscard]] bool are(const std::vector<std::pair<std::string, std::string>>& values) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const auto& each) { return value_of(each.first) == each.second; });
  }
  /// The value of an expression; null: it has none.
  [[nodiscard]] json value_of(const std::string& expression) const {
    try {
      connection to{own_port_.number()};
      to.send(fmt::format("GET /api/v1/query?query={} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                          expression));
      const auto reply = read_reply(to);
      if (reply.status != 200) return nullptr;  // it is not ready yet
      const auto result = json::parse(reply.body)["data"]["result"];
      return result.empty() ? json(nullptr) : result[0]["value"][1];
    } catch (const std::system_error&) {  // it does not listen yet
      return nullptr;
    }
  }

  reserved_port own_port_;
  std::unique_ptr<process> prometheus_;
};

TEST_F(serve_prometheus, finds_no_fault_with_the_metrics) {
  const auto holder = start_holder("jobs/\"night\"\\");
  const auto waiter = start({"run", "jobs/\"night\"\\", "--", "true"});
  serve();
  ASSERT_TRUE(eventually([&] { return metric("holdfast_longest_wait_seconds", "jobs") > 0.0; }));
  write_file(file("metrics"), get("/metrics").body);
  process check{scratch_, {"promtool", "check", "metrics"}, {.environment = {}, .input = file("metrics")}};
  const auto said = check.wait();
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.out + said.err, "");
  const auto open =
      get("/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
  EXPECT_THAT(open.headers.at("content-type"), StartsWith("application/openmetrics-text; version=1.0.0"));
  EXPECT_THAT(open.body, EndsWith("\n# EOF\n"));
  EXPECT_THAT(open.body, HasSubstr("# TYPE holdfast_handovers counter\n"));
}

TEST_F(serve_prometheus, reads_the_holders_and_waiters_of_a_store) {
  const auto holder = start_holder("jobs/night");
  const auto waiter = start({"run", "jobs/night", "--", "sleep", "1000"});
  ASSERT_TRUE(waiters("jobs/night", 1));
  serve();
  start_prometheus();
  ASSERT_TRUE(eventually([&] {
    return are({{"holdfast_locks_held%7Bprefix=%22jobs%22%7D", "1"},
                {"holdfast_waiters", "1"},
                {"holdfast_store_up", "1"},
                {"up", "1"},
                {"holdfast_handovers_total", "0"}});
  })) << prometheus_->err();
  holder->signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return value_of("holdfast_handovers_total") == "1"; })) << prometheus_->err();
  EXPECT_TRUE(eventually([&] { return value_of("holdfast_waiters") == "0"; }));
}

}  // namespace
}  // namespace holdfast::test
