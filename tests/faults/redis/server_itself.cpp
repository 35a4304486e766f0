// What the other tests believe of the server that they start: that it is real, and does as it is told.

#include <csignal>
#include <thread>

#include "faults/faults.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::redis_console;
using test::redis_server;

TEST(redis_server_itself, answers_as_a_person_would_see_it) {
  redis_server server;
  EXPECT_EQ(server.ask({"SET", "key", "two\r\nlines"}), "OK");
  EXPECT_EQ(server.ask({"GET", "key"}), "two\r\nlines");
  EXPECT_EQ(server.ask({"GET", "nothing"}), "(nil)");
  EXPECT_EQ(server.ask({"STRLEN", "key"}), "10");
  EXPECT_EQ(server.ask({"MGET", "key", "nothing"}), "two\r\nlines\n(nil)");
  EXPECT_EQ(server.ask({"LPOP", "key"}).substr(0, 10), "-WRONGTYPE");
  EXPECT_EQ(server.info("connected_clients"), 1);
}

TEST(redis_server_itself, is_the_one_that_was_asked_for) {
  redis_server server;
  const auto program = std::filesystem::path{redis_server::usual_program()}.filename().string();
  EXPECT_THAT(server.ask({"INFO", "server"}), testing::HasSubstr('/' + program + "\r\n"));
}

TEST(redis_server_itself, forgets_what_is_not_on_the_disk) {
  redis_server server;
  server.ask({"SET", "key", "value"});
  const auto port = server.port();
  server.kill();
  EXPECT_FALSE(redis_console{server.socket()}.connected());
  server.start();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
}

TEST(redis_server_itself, keeps_what_is_and_loses_it_when_told) {
  redis_server server{{.append_only = true}};
  server.ask({"SET", "key", "value"});
  server.kill();
  server.start();
  EXPECT_EQ(server.ask({"GET", "key"}), "value");
  server.kill();
  server.start_empty();
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
}

TEST(redis_server_itself, asks_for_its_password) {
  redis_server server{{.password = "open sesame"}};
  EXPECT_EQ(server.ask({"PING"}), "PONG");
  EXPECT_EQ(redis_console{server.socket()}.ask({"PING"}).substr(0, 7), "-NOAUTH");
}

TEST(redis_server_itself, stands_still) {
  redis_server server;
  const auto other = server.console();
  server.stop();
  other->tell({"SET", "key", "sent meanwhile"});
  server.go_on();
  EXPECT_EQ(other->ask({"GET", "key"}), "OK");  // the reply to what was told
  EXPECT_EQ(server.ask({"GET", "key"}), "sent meanwhile");
}

TEST(redis_server_itself, has_the_wall_clock_that_it_is_given) {
  redis_server server{{.own_clock = true}};
  const auto seconds = [&] { return std::stoll(server.ask({"TIME"})); };
  const auto start = seconds();
  server.set_clock(1h);
  EXPECT_NEAR(static_cast<double>(seconds() - start), 3600, 60);
  server.set_clock(-1h);
  EXPECT_NEAR(static_cast<double>(seconds() - start), -3600, 60);
}

TEST(redis_server_itself, takes_nobody_without_a_certificate_on_its_tls_port) {
  redis_server server{{.tls = true}};
  const auto say = [&](std::vector<std::string> options) {
    const test::scratch_folder folder;
    std::vector<std::string> arguments{"redis-cli",
                                       "-h",
                                       "localhost",
                                       "-p",
                                       std::to_string(server.tls_port()),
                                       "--tls",
                                       "--cacert",
                                       server.authority().authority()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("PING");
    test::child_process command{arguments, {.output = folder.file("said")}};
    command.wait(60s);
    return bytes_of(folder.file("said"));
  };
  EXPECT_EQ(say({"--cert", server.client_pair().certificate, "--key", server.client_pair().key}), "PONG\n");
  EXPECT_EQ(say({}).find("PONG"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::faults
