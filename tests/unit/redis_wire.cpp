// SPDX-License-Identifier: Apache-2.0
// What is read of a connection to a Redis server at one wake-up.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/link/wire.hpp"

namespace holdfast::redis {
namespace {

/// Of a server that sends without a pause.
class endless_stream final : public stream {
 public:
  static constexpr std::string_view message = "+OK\r\n";

  /// \param buffered reads until which the stream has bytes of which the descriptor says nothing.
  explicit endless_stream(int buffered) : buffered_{buffered} {}

  std::size_t read_some(char* to, std::size_t room) override {
    if (++reads_ > 1000) throw std::runtime_error{"read without end"};
    const std::size_t n = std::min(message.size(), room);
    std::copy_n(message.data(), n, to);
    return n;
  }
  std::size_t write_some(std::string_view bytes) override { return bytes.size(); }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] bool has_buffered() const override { return reads_ < buffered_; }

 private:
  const int buffered_;
  int reads_ = 0;
};

class redis_wire : public testing::Test {
 protected:
  /// \return the messages of one reading.
  [[nodiscard]] std::size_t messages_of(bool is_tls, int buffered) const {
    connection made;
    made.stream = std::make_unique<endless_stream>(buffered);
    wire line{std::move(made), is_tls, in_, marker_};
    std::vector<char> buffer(endless_stream::message.size());
    std::vector<value> messages;
    line.read(buffer, messages);
    return messages.size();
  }

  dialect in_;
  guard_marker marker_;
};

TEST_F(redis_wire, a_server_that_sends_without_a_pause_does_not_keep_the_reader) {
  for (const bool is_tls : {false, true}) {
    EXPECT_GT(messages_of(is_tls, 0), 0U);
    EXPECT_LT(messages_of(is_tls, 0), 100U);
  }
}

// The descriptor would not wake the reader for them.
TEST_F(redis_wire, reads_all_that_the_stream_itself_has_buffered) { EXPECT_EQ(messages_of(true, 200), 200U); }

// A node of a cluster that stood still while its replica took its place carries out what lies in its sockets.
TEST_F(redis_wire, doubts_what_a_node_of_a_cluster_answers_to_a_request_of_more_than_a_second_ago) {
  const auto is_doubted = [this](std::chrono::steady_clock::duration age) {
    connection made;
    made.stream = std::make_unique<endless_stream>(0);
    const wire line{std::move(made), false, in_, marker_};
    pending_command answered;
    answered.sent = std::chrono::steady_clock::now() - age;
    return line.may_be_outdated(answered);
  };
  using namespace std::chrono_literals;
  EXPECT_FALSE(is_doubted(2s))
      << "a server that is no node of a cluster loses its connections when it is replaced";
  marker_.move_to(7);
  EXPECT_TRUE(is_doubted(1s));
  EXPECT_FALSE(is_doubted(-1h)) << "just now, whatever the machine does meanwhile";
  in_.guard = {};
  EXPECT_FALSE(is_doubted(2s)) << "without a guard nobody asks";
}

}  // namespace
}  // namespace holdfast::redis
