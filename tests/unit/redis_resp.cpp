// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "stores/redis/protocol/resp.hpp"

namespace holdfast::redis {
namespace {

using kind = value::kind;

std::string shown(const value& v) {
  switch (v.type) {
    case kind::null: return "null";
    case kind::number: return std::to_string(v.number);
    case kind::text: return std::string{"'"}.append(v.text).append("'");
    case kind::error: return std::string{"!"}.append(v.text);
    case kind::list:
    case kind::push: break;
  }
  std::string all{v.is(kind::push) ? ">[" : "["};
  for (const value& item : v.items) all.append(all.back() == '[' ? "" : " ").append(shown(item));
  return all.append("]");
}

/// All messages, when the bytes come in pieces of this size.
std::string read_in_pieces(std::string_view bytes, std::size_t size) {
  parser p;
  std::string all;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    p.feed(bytes.substr(at, size));
    while (const auto v = p.next()) all.append(shown(*v)).append(";");
  }
  EXPECT_FALSE(p.is_in_message()) << "everything has been read";
  return all;
}

TEST(redis_parser, understands_all_that_servers_say) {
  const std::string bytes =
      "+OK\r\n"
      "-ERR no\r\n"
      ":-12\r\n"
      "$5\r\na\r\nbc\r\n"
      "$0\r\n\r\n"
      "$-1\r\n"
      "_\r\n"
      "#t\r\n"
      "#f\r\n"
      ",1.5\r\n"
      "(123456789012345678901234567890\r\n"
      "!5\r\nERR x\r\n"
      "=7\r\ntxt:abc\r\n"
      "*-1\r\n"
      "*0\r\n"
      "*2\r\n:1\r\n*2\r\n:2\r\n*0\r\n"
      "%1\r\n+k\r\n:3\r\n"
      "~1\r\n:4\r\n"
      ">3\r\n+message\r\n$1\r\nc\r\n$1\r\nm\r\n"
      "|1\r\n+ttl\r\n:9\r\n:5\r\n"
      "*2\r\n|1\r\n+x\r\n+y\r\n:6\r\n:7\r\n"
      "%0\r\n";
  const std::string expected =
      "'OK';!ERR no;-12;'a\r\nbc';'';null;null;1;0;'1.5';'123456789012345678901234567890';!ERR "
      "x;'abc';null;[];"
      "[1 [2 []]];['k' 3];[4];>['message' 'c' 'm'];5;[6 7];[];";
  for (std::size_t size = 1; size < bytes.size() + 1; ++size)
    EXPECT_EQ(read_in_pieces(bytes, size), expected) << size;
}

TEST(redis_parser, believes_nothing_of_what_no_server_says) {
  const std::string deep = [] {
    std::string s;
    for (int i = 0; i < 40; ++i) s += "*1\r\n";
    return s;
  }();
  for (const std::string& bytes : std::vector<std::string>{"\r\n",
                                                           "$\r\n",
                                                           "!\r\n",
                                                           "=\r\n",
                                                           "=3\r\nabc\r\n",
                                                           "$?\r\n",
                                                           "$-2\r\n",
                                                           "$x\r\n",
                                                           "$18446744073709551615\r\n",
                                                           "$99999999999\r\n",
                                                           "$3\r\nabcde\r\n",
                                                           ":\r\n",
                                                           ":1x\r\n",
                                                           "#x\r\n",
                                                           "*-2\r\n",
                                                           "*18446744073709551615\r\n",
                                                           "%9223372036854775807\r\n",
                                                           "hello\r\n",
                                                           "HTTP/1.1 400 Bad Request\r\n",
                                                           std::string(100'000, '+'),
                                                           deep}) {
    parser p;
    p.feed(bytes);
    EXPECT_THROW(while (p.next()){}, parser::garbage) << bytes.substr(0, 40);
  }
}

TEST(redis_parser, reserves_nothing_for_what_is_announced) {
  for (const char* bytes :
       {"*1000000000\r\n:1\r\n", "$500000000\r\nabc", "%1000000000\r\n", ">1000000000\r\n"}) {
    parser p;
    p.feed(bytes);
    EXPECT_FALSE(p.next()) << bytes;
    EXPECT_TRUE(p.is_in_message());
  }
}

TEST(redis_commands, are_counted_arguments) {
  std::string out;
  append(out, {"GET", "a\r\nb", ""});
  EXPECT_EQ(out, "*3\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n$0\r\n\r\n");
}

}  // namespace
}  // namespace holdfast::redis
