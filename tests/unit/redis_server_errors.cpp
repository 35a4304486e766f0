// SPDX-License-Identifier: Apache-2.0
// What is made of the errors that a server answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(redis_request_errors, are_told_apart) {
  EXPECT_EQ(request_error_of("WRONGTYPE Operation against a key").reason.code, errc::wrong_type);
  EXPECT_EQ(request_error_of("ERR Error running script (call to f_1): @user_script:3: WRONGTYPE Operation")
                .reason.code,
            errc::wrong_type)
      << "as Redis 6 puts it";
  for (const char* code : {"NOAUTH", "WRONGPASS", "NOPERM"}) {
    const auto t = request_error_of(std::string{code} + " no");
    EXPECT_EQ(t.reason.code, errc::permission_denied);
    EXPECT_FALSE(t.retryable || t.maybe_executed);
  }
  for (const char* code : {"NOAUTH", "WRONGPASS"}) {
    const std::string said = std::string{code} + " no";
    EXPECT_THAT(request_error_of(said).reason.message, AllOf(HasSubstr(said), HasSubstr("URL")));
  }
  for (const char* code : {"LOADING", "BUSY", "READONLY", "MASTERDOWN", "MISCONF"}) {
    const auto t = request_error_of(std::string{code} + " not now");
    EXPECT_EQ(t.reason.code, errc::unavailable);
    EXPECT_TRUE(t.retryable);
    EXPECT_FALSE(t.maybe_executed) << "it was refused";
  }
  EXPECT_EQ(request_error_of("OOM command not allowed").reason.code, errc::exhausted);
  EXPECT_THAT(request_error_of("OOM command not allowed").reason.message, HasSubstr("maxmemory"));
  EXPECT_THAT(request_error_of("NOPERM this user").reason.message, HasSubstr("holdfast doctor"));
  EXPECT_FALSE(request_error_of("ERR unknown command").retryable);
}

// What a script has written before its error stays.
TEST(redis_request_errors, that_come_out_of_a_script_leave_the_outcome_unknown) {
  constexpr const char* place = " script: 1f2e, on @user_script:12.";
  for (const char* text :
       {"ERR The user executing the script can't run this command or subcommand",
        "ERR ACL failure in script: User b has no permissions to run the 'pexpire' command",
        "NOPERM User b has no permissions to run the 'pexpire' command"}) {
    const auto t = request_error_of(std::string{text} + place);
    EXPECT_EQ(t.reason.code, errc::permission_denied) << text;
    EXPECT_TRUE(t.maybe_executed) << text;
    EXPECT_THAT(t.reason.message, AllOf(HasSubstr(text), HasSubstr("holdfast doctor")));
  }
  for (const char* text : {"ERR user_script:12: attempt to index local 'c' (a nil value)",
                           "ERR invalid expire time in 'set' command"}) {
    EXPECT_TRUE(request_error_of(std::string{text} + place).maybe_executed) << text;
  }
  EXPECT_TRUE(request_error_of("ERR Error running script (call to f_1): @user_script:3: x").maybe_executed)
      << "as Redis 6 puts it";
  EXPECT_FALSE(request_error_of("ERR unknown command 'EVALSHA'").maybe_executed);
  for (const char* first : {"WRONGTYPE Operation against a key holding the wrong kind of value",
                            "OOM command not allowed when used memory > 'maxmemory'.",
                            "READONLY You can't write against a read only replica."}) {
    EXPECT_FALSE(request_error_of(std::string{first} + place).maybe_executed) << first;
  }
}

}  // namespace
}  // namespace holdfast::redis
