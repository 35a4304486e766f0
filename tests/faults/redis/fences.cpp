// SPDX-License-Identifier: Apache-2.0
// The check of fencing tokens as a function of Redis 7, and as a part of a script.

#include <gmock/gmock.h>
#include <sstream>

#include "faults/paused_writer.hpp"
#include "support/redis_server.hpp"
#include <holdfast/schema.hpp>

namespace holdfast::faults {
namespace {

using test::redis_server;
using testing::HasSubstr;
using testing::StartsWith;

class redis_fences : public testing::Test {
 protected:
  redis_fences() { EXPECT_TRUE(apply_fence_schema(server_.url())); }
  std::string fence(const std::string& token) {
    return server_.ask({"FCALL", "holdfast_fence", "1", "fence", token});
  }
  /// A script of a user, with the printed function.
  static std::string script(const std::string& writes) {
    const std::string text = fence_schema("redis://localhost");
    const auto begin = text.find("local function holdfast_fence");
    return text.substr(begin, text.find("\nend\n", begin) + 5 - begin) +
           "local refused = holdfast_fence(KEYS[1], ARGV[1])\n"
           "if refused then return refused end\n" +
           writes;
  }
  redis_server server_;
};

TEST_F(redis_fences, refuse_an_older_token_and_admit_the_same) {
  EXPECT_EQ(fence("5"), "OK");
  EXPECT_EQ(fence("5"), "OK");
  EXPECT_THAT(fence("4"), StartsWith("-HOLDFASTFENCED the fencing token 4 is older than 5"));
  // Lua's numbers do not tell these two apart.
  EXPECT_EQ(fence("9223372036854775807"), "OK");
  EXPECT_THAT(fence("9223372036854775806"), StartsWith("-HOLDFASTFENCED"));
  for (const char* token : {"0", "-1", "", "1.5", "x", "00", "123456789012345678901"})
    EXPECT_THAT(fence(token), StartsWith("-HOLDFASTINVALID")) << token;
  EXPECT_THAT(server_.ask({"FCALL", "holdfast_fence", "0", "5"}), StartsWith("-HOLDFASTINVALID"));
}

TEST_F(redis_fences, keep_the_token_for_ever) {
  EXPECT_EQ(fence("5"), "OK");
  EXPECT_EQ(server_.ask({"EXPIRE", "fence", "1000"}), "1");
  EXPECT_EQ(fence("5"), "OK");
  EXPECT_EQ(server_.ask({"TTL", "fence"}), "-1");
}

TEST_F(redis_fences, leave_keys_of_others_alone) {
  EXPECT_EQ(server_.ask({"SET", "fence", "something"}), "OK");
  EXPECT_THAT(fence("5"), StartsWith("-HOLDFASTINVALID"));
  EXPECT_EQ(server_.ask({"GET", "fence"}), "something");
}

TEST_F(redis_fences, run_a_command_under_the_token) {
  const auto set = [&](const char* token, const char* units) {
    return server_.ask({"FCALL", "holdfast_fence", "2", "fence", "stock", token, "SET", "stock", units});
  };
  EXPECT_EQ(set("5", "9"), "OK");
  EXPECT_THAT(set("4", "1"), StartsWith("-HOLDFASTFENCED"));
  EXPECT_EQ(server_.ask({"GET", "stock"}), "9");
}

TEST_F(redis_fences, are_a_part_of_other_scripts) {
  const std::string text = script("return redis.call('DECR', KEYS[2])");
  const auto decrement = [&](const char* token) {
    return server_.ask({"EVAL", text, "2", "fence", "stock", token});
  };
  EXPECT_EQ(decrement("5"), "-1");
  EXPECT_THAT(decrement("4"), StartsWith("-HOLDFASTFENCED"));
  EXPECT_EQ(decrement("6"), "-2");
  EXPECT_EQ(server_.ask({"GET", "stock"}), "-2");
}

TEST_F(redis_fences, run_with_the_rights_of_the_caller) {
  EXPECT_EQ(server_.ask({"ACL", "SETUSER", "worker", "on", "nopass", "~fence", "+fcall", "+get", "+set"}),
            "OK");
  const auto worker = server_.console();
  EXPECT_EQ(worker->ask({"AUTH", "worker", "x"}), "OK");
  EXPECT_EQ(worker->ask({"FCALL", "holdfast_fence", "1", "fence", "5"}), "OK");
  EXPECT_THAT(worker->ask({"FCALL", "holdfast_fence", "1", "other", "5"}), StartsWith("-NOPERM"));
  EXPECT_EQ(server_.ask({"ACL", "SETUSER", "worker", "-set"}), "OK");
  EXPECT_THAT(worker->ask({"FCALL", "holdfast_fence", "1", "fence", "6"}), StartsWith("-"));
  EXPECT_EQ(fence("5"), "OK");
}

TEST_F(redis_fences, are_loaded_once_and_put_back) {
  EXPECT_FALSE(apply_fence_schema(server_.url()));
  EXPECT_EQ(server_.ask({"FUNCTION", "LOAD", "REPLACE",
                         "#!lua name=holdfast\n-- Holdfast\n"
                         "redis.register_function('holdfast_fence', function() return 1 end)"}),
            "holdfast");
  EXPECT_TRUE(apply_fence_schema(server_.url()));
  EXPECT_EQ(fence("5"), "OK");
  EXPECT_EQ(server_.ask({"FUNCTION", "LOAD", "REPLACE",
                         "#!lua name=holdfast\nredis.register_function('mine', function() return 1 end)"}),
            "holdfast");
  EXPECT_EQ(failure_of([&] { (void)apply_fence_schema(server_.url()); }).code, errc::foreign_store);
}

/// As a log of Kafka: records stay in the order in which they came, and nothing refuses one.
TEST(redis_stream, whose_readers_drop_older_tokens_has_no_late_record_of_a_paused_holder) {
  redis_server server;
  const auto record = [](fencing_token token, const std::string& units) {
    return std::vector<std::string>{"XADD",  "log", "*", "token", std::to_string(token.value()),
                                    "units", units};
  };
  const auto write = [&](fencing_token token) {
    auto words = record(token, "1");
    words.insert(words.begin(), {"redis-cli", "-e", "-s", server.socket()});
    return words;
  };
  const auto succeed = [&](fencing_token token) { EXPECT_NE(server.ask(record(token, "9")), ""); };
  EXPECT_EQ(status_of_late_write(server.url(), write, succeed), 0);

  const auto units = [&](bool checked) {
    std::istringstream records{server.ask({"XRANGE", "log", "-", "+"})};
    std::string id;
    std::string name;
    std::string value;
    std::string last;
    std::uint64_t token = 0;
    std::uint64_t largest = 0;
    while (records >> id >> name >> token >> name >> value) {
      if (checked && token < largest) continue;
      largest = token;
      last = value;
    }
    return last;
  };
  EXPECT_EQ(units(false), "1") << "without a check the late record counts";
  EXPECT_EQ(units(true), "9");
}

TEST_F(redis_fences, keep_the_late_write_of_a_paused_holder_away) {
  for (const bool checked : {false, true}) {
    const auto command = [&](fencing_token token, const std::string& units) {
      std::vector<std::string> words{"SET", "stock", units};
      if (checked) {
        words.insert(words.begin(),
                     {"FCALL", "holdfast_fence", "2", "fence", "stock", std::to_string(token.value())});
      }
      return words;
    };
    const auto write = [&](fencing_token token) {
      auto words = command(token, "1");
      words.insert(words.begin(), {"redis-cli", "-e", "-s", server_.socket()});
      return words;
    };
    const auto succeed = [&](fencing_token token) { EXPECT_EQ(server_.ask(command(token, "9")), "OK"); };
    EXPECT_EQ(status_of_late_write(server_.url(), write, succeed), checked ? 1 : 0);
    EXPECT_EQ(server_.ask({"GET", "stock"}), checked ? "9" : "1");
  }
}

}  // namespace
}  // namespace holdfast::faults
