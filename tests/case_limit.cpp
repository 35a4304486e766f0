// SPDX-License-Identifier: Apache-2.0
// Ends a test program in which one case hangs, and names the case: CTest's own limit is for the whole
// process, and would come late. HOLDFAST_TEST_CASE_LIMIT is in seconds; without it nothing is limited.

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

std::array<char, 512> message_of_limit{};

void end_program(int) {
  // Only what a signal handler may call.
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, message_of_limit.data(), std::strlen(message_of_limit.data()));
  std::abort();
}

class case_limit final : public testing::EmptyTestEventListener {
 public:
  explicit case_limit(unsigned seconds) : seconds_{seconds} {}

  void OnTestStart(const testing::TestInfo& test) override {
    const auto message = std::string{"\n[  FAILED  ] "} + test.test_suite_name() + '.' + test.name() +
                         ": Failure\nThe case took longer than " + std::to_string(seconds_) +
                         " s. The program is ended.\n";
    message.copy(message_of_limit.data(), message_of_limit.size() - 1);
    message_of_limit[std::min(message.size(), message_of_limit.size() - 1)] = '\0';
    std::signal(SIGALRM, end_program);
    ::alarm(seconds_);
  }
  void OnTestEnd(const testing::TestInfo&) override { ::alarm(0); }

 private:
  unsigned seconds_;
};

const bool is_installed = [] {
  const char* text = std::getenv("HOLDFAST_TEST_CASE_LIMIT");
  if (text == nullptr) return false;
  unsigned seconds = 0;
  const auto [end, problem] = std::from_chars(text, text + std::strlen(text), seconds);
  if (problem != std::errc{} || *end != '\0' || seconds == 0) return false;
  testing::UnitTest::GetInstance()->listeners().Append(new case_limit{seconds});  // gtest deletes it
  return true;
}();

}  // namespace
