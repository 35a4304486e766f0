// SPDX-License-Identifier: Apache-2.0
// The service of examples/fenced_http.cpp, which checks tokens in its handler.

#include <gmock/gmock.h>
#include <memory>
#include <thread>

#include "faults/paused_writer.hpp"

namespace holdfast::faults {
namespace {

using strings = std::vector<std::string>;

class fenced_http : public testing::Test {
 protected:
  explicit fenced_http(const strings& environment = {})
      : service_{{HOLDFAST_TEST_FENCED_HTTP, "0"}, environment}, items_{service_.hear()} {}

  [[nodiscard]] strings request(const std::string& method, const strings& tokens,
                                const std::string& item) const {
    strings command{"curl", "--silent",  "--noproxy", "*",          "--max-time",
                    "60",   "--request", method,      items_ + item};
    for (const std::string& each : tokens)
      command.insert(command.end(), {"--header", "Fencing-Token: " + each});
    return command;
  }
  [[nodiscard]] strings put(fencing_token token, const std::string& text) const {
    auto command = request("PUT", {std::to_string(token.value())}, "stock");
    command.insert(command.end(), {"--fail", "--data-binary", text});
    return command;
  }
  /// Sends it. \return its output.
  static std::string send(strings command, const strings& options) {
    command.insert(command.end(), options.begin(), options.end());
    return actor{command, {}}.hear();
  }
  [[nodiscard]] std::string status(const std::string& method, const strings& tokens,
                                   const std::string& item = "stock") const {
    return send(request(method, tokens, item), {"--output", "/dev/null", "--write-out", "%{http_code}\n"});
  }
  [[nodiscard]] std::string text(fencing_token token) const {
    return send(request("GET", {std::to_string(token.value())}, "stock"), {"--write-out", "\n"});
  }

  /// \return the status of curl for the late write, and what the item is afterwards.
  [[nodiscard]] std::pair<int, std::string> write_late() const {
    fencing_token newest;
    const auto write = [&](fencing_token token) { return put(token, "late"); };
    const auto succeed = [&](fencing_token token) {
      newest = token;
      EXPECT_EQ(paused_writer{put(token, "newer")}.go_on(), 0);
    };
    const int status = status_of_late_write("memory:", write, succeed);
    return {status, text(newest)};
  }

 private:
  actor service_;
  std::string items_;
};

TEST_F(fenced_http, keeps_the_late_write_of_a_paused_holder_away) {
  constexpr int refused = 22;  // of curl: the service answered 400 or above
  EXPECT_EQ(write_late(), std::pair(refused, std::string{"newer"}));
}

class unfenced_http : public fenced_http {
 protected:
  unfenced_http() : fenced_http{{"HOLDFAST_TEST_UNFENCED=1"}} {}
};

TEST_F(unfenced_http, takes_the_late_write_of_a_paused_holder) {
  EXPECT_EQ(write_late(), std::pair(0, std::string{"late"}));
}

TEST_F(fenced_http, answers_412_for_an_older_token) {
  EXPECT_EQ(status("PUT", {"5"}), "204");
  EXPECT_EQ(status("PUT", {"5"}), "204") << "the same holder";
  EXPECT_EQ(status("PUT", {"4"}), "412");
  EXPECT_EQ(status("PUT", {"4"}, "prices"), "204") << "each item has its own";
  EXPECT_EQ(status("GET", {"4"}), "412");
  EXPECT_EQ(status("GET", {"6"}), "200");
  EXPECT_EQ(status("PUT", {"5"}), "412") << "a newer holder has read";
  EXPECT_EQ(status("PUT", {"18446744073709551615"}), "204");
}

TEST_F(fenced_http, answers_400_without_a_token) {
  EXPECT_EQ(status("PUT", {}), "400");
  EXPECT_EQ(status("PUT", {"5", "5"}), "400");
  for (const char* wrong : {"0", "-1", "+5", "5x", "5 6", "0x5", "1.5", "18446744073709551616"})
    EXPECT_EQ(status("PUT", {wrong}), "400") << wrong;
  EXPECT_EQ(status("PUT", {"1"}), "204") << "nothing was remembered";
}

TEST_F(fenced_http, has_known_items_alone) {
  EXPECT_EQ(status("PUT", {"5"}, "unknown"), "404");
  EXPECT_EQ(status("GET", {"5"}, "../stock"), "404");
  EXPECT_EQ(status("DELETE", {"5"}), "405");
}

/// The last write is that of the newest token, in whichever order they come.
TEST_F(fenced_http, checks_and_writes_in_one_step) {
  constexpr std::uint64_t count = 16;
  {
    std::vector<std::jthread> holders;
    for (std::uint64_t token = 1; token <= count; ++token) {
      holders.emplace_back([this, token] {
        static_cast<void>(send(put(fencing_token{token}, std::to_string(token)), {"--write-out", "\n"}));
      });
    }
  }
  EXPECT_EQ(text(fencing_token{count}), std::to_string(count));
}

}  // namespace
}  // namespace holdfast::faults
