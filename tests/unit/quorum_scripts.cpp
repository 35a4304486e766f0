// SPDX-License-Identifier: Apache-2.0
// What the scripts of a server that votes have in common with the client.

#include "stores/redis/protocol/quorum_scripts.hpp"

#include <chrono>
#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "base/metadata.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/scripts.hpp"

namespace holdfast::redis {
namespace {

std::size_t count_of(const std::string& text, std::string_view script) {
  std::size_t count = 0;
  for (auto at = script.find(text); at != std::string_view::npos; at = script.find(text, at + 1)) ++count;
  return count;
}

TEST(quorum_scripts, accept_a_number_as_far_ahead_of_the_clock_as_the_client_proposes) {
  constexpr std::chrono::microseconds furthest = dialect::furthest_number;
  const std::string number = std::to_string(furthest.count());
  for (const std::string_view script : {quorum_text::claim, quorum_text::accept}) {
    const std::size_t named = count_of("local furthest = " + number + " ", script);
    EXPECT_NE(named, 0U);
    EXPECT_EQ(count_of(number, script), named) << "the number stands there without its name";
  }
}

TEST(quorum_scripts, know_where_a_request_to_release_begins) {
  const std::string line = "local mark = '" + std::string{release_request_mark} + "'";
  for (const std::string_view script : {quorum_text::annotate, text::annotate, text::request_release}) {
    EXPECT_EQ(count_of(line, script), 1U);
    EXPECT_EQ(count_of(std::string{release_request_mark}, script), 1U)
        << "the text stands there without its name";
  }
}

}  // namespace
}  // namespace holdfast::redis
