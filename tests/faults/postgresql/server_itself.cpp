// What the other tests believe of the server that they start: that it is real, and does as it is told.

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "faults/faults.hpp"
#include "support/postgresql_server.hpp"

namespace holdfast::faults {
namespace {

using test::postgresql_console;
using test::postgresql_server;
using testing::HasSubstr;
using testing::StartsWith;

/// Those that are left of them when the kernel has had a minute.
std::vector<::pid_t> left_of(std::vector<::pid_t> processes) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!processes.empty() && std::chrono::steady_clock::now() < deadline) {
    std::erase_if(processes, [](::pid_t pid) { return ::kill(pid, 0) != 0; });
    std::this_thread::sleep_for(1ms);
  }
  return processes;
}

TEST(postgresql_server_itself, answers_as_a_person_would_see_it) {
  postgresql_server server;
  EXPECT_EQ(server.ask("SELECT 1, NULL, 'two\nlines' UNION ALL SELECT 2, 'b', ''"),
            "1|(null)|two\nlines\n2|b|");
  EXPECT_EQ(server.ask("SELECT $1 || $2", {"it's", " \"bound\""}), "it's \"bound\"");
  EXPECT_EQ(server.ask("SELECT 1; SELECT 2"), "2");
  EXPECT_EQ(server.ask("CREATE TABLE t (n integer PRIMARY KEY)"), "");
  EXPECT_EQ(server.ask("SELECT nothing"), "-42703 column \"nothing\" does not exist");
  EXPECT_EQ(server.number("SELECT count(*) FROM t"), 0);
  EXPECT_EQ(server.ask("SHOW fsync"), "off");
}

TEST(postgresql_server_itself, takes_its_lines) {
  postgresql_server server{
      {.lines = {"max_connections = 7", "timezone = 'Asia/Kathmandu'"}, .durable = true}};
  EXPECT_EQ(server.ask("SHOW max_connections"), "7");
  EXPECT_EQ(server.ask("SHOW timezone"), "Asia/Kathmandu");
  EXPECT_EQ(server.ask("SHOW fsync"), "on");
}

TEST(postgresql_server_itself, has_a_database_whose_owner_is_no_superuser) {
  postgresql_server server;
  const auto owner = server.console("holdfast");
  EXPECT_EQ(owner->ask("SELECT current_user, current_database()"), "holdfast|holdfast");
  EXPECT_EQ(owner->ask("CREATE TABLE mine (n integer)"), "");
  EXPECT_THAT(owner->ask("CREATE ROLE another"), StartsWith("-42501 "));
}

TEST(postgresql_server_itself, asks_for_its_password) {
  postgresql_server server{{.password = "open sesame"}};
  EXPECT_THAT(server.ask("SELECT rolpassword FROM pg_authid WHERE rolname = 'holdfast'"),
              StartsWith("SCRAM-SHA-256$"));
  EXPECT_EQ(server.console("holdfast", "open sesame")->ask("SELECT 1"), "1");
  const auto stranger = server.console("holdfast", "open barley");
  EXPECT_FALSE(stranger->connected());
  EXPECT_THAT(stranger->last_error(), HasSubstr("password authentication failed"));
}

TEST(postgresql_server_itself, keeps_what_it_has_confirmed) {
  postgresql_server server;
  server.ask("CREATE TABLE t (n integer)");
  server.ask("INSERT INTO t VALUES (1)");
  const auto port = server.port();
  const auto processes = server.processes();
  EXPECT_GT(processes.size(), 1);
  const auto other = server.console();
  EXPECT_EQ(other->ask("BEGIN; INSERT INTO t VALUES (2)"), "");
  server.kill();
  EXPECT_TRUE(left_of(processes).empty());
  EXPECT_FALSE(server.console()->connected());
  EXPECT_THAT(other->ask("COMMIT"), StartsWith("-08006 "));
  server.start();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(server.ask("SELECT n FROM t"), "1");
}

TEST(postgresql_server_itself, ends_as_an_operator_ends_it_and_comes_back) {
  postgresql_server server;
  server.ask("CREATE TABLE t (n integer)");
  const auto other = server.console();
  server.shut_down();
  EXPECT_THAT(other->ask("SELECT 1"), HasSubstr("terminating connection due to administrator command"));
  server.start();
  EXPECT_EQ(server.number("SELECT count(*) FROM t"), 0);
}

TEST(postgresql_server_itself, takes_only_reading_as_a_standby) {
  postgresql_server server;
  server.ask("CREATE TABLE t (n integer)");
  server.kill();
  server.start_as_standby();
  EXPECT_EQ(server.number("SELECT count(*) FROM t"), 0);
  EXPECT_THAT(server.ask("INSERT INTO t VALUES (1)"), StartsWith("-25006 "));
  EXPECT_EQ(server.ask("SELECT pg_promote()"), "t");
  EXPECT_EQ(server.ask("INSERT INTO t VALUES (1)"), "");
}

TEST(postgresql_server_itself, stands_still_with_all_its_processes) {
  postgresql_server server;
  const auto busy = server.console();
  const auto other = server.console();
  server.ask("CREATE SEQUENCE turns");
  busy->tell("DO $$ BEGIN LOOP PERFORM nextval('turns'); END LOOP; END $$");
  while (server.number("SELECT last_value FROM turns") < 1000) {
  }
  server.stop();
  other->tell("SELECT 'sent meanwhile'");
  for (const auto pid : server.processes()) {
    EXPECT_THAT(bytes_of("/proc/" + std::to_string(pid) + "/stat"), HasSubstr(") T "));
  }
  server.go_on();
  EXPECT_EQ(other->answer(), "sent meanwhile");
  EXPECT_EQ(server.ask("SELECT pg_terminate_backend($1)", {std::to_string(busy->backend())}), "t");
  EXPECT_THAT(busy->answer(), StartsWith("-57P01 "));
}

TEST(postgresql_server_itself, tells_who_listens) {
  postgresql_server server;
  const auto other = server.console();
  other->ask("LISTEN channel_of_test");
  server.ask("SELECT pg_notify('channel_of_test', 'message')");
  EXPECT_EQ(other->notified(), "message");
}

TEST(postgresql_server_itself, has_the_wall_clock_that_it_is_given) {
  postgresql_server server{{.own_clock = true}};
  const auto seconds = [&] { return server.number("SELECT extract(epoch FROM clock_timestamp())::bigint"); };
  const auto start = seconds();
  server.set_clock(1h);
  EXPECT_NEAR(static_cast<double>(seconds() - start), 3600, 60);
  server.set_clock(-1h);
  EXPECT_NEAR(static_cast<double>(seconds() - start), -3600, 60);
}

TEST(postgresql_server_itself, takes_nobody_over_tcp_without_tls_and_a_certificate) {
  postgresql_server server{{.password = "open sesame", .tls = true}};
  const std::string where = "host=localhost port=" + std::to_string(server.port()) +
                            " dbname=holdfast user=holdfast password='open sesame' sslmode=";
  const std::string trusting = where + "verify-full sslrootcert=" + server.authority().authority();
  const std::string known =
      trusting + " sslcert=" + server.client_pair().certificate + " sslkey=" + server.client_pair().key;
  EXPECT_EQ(postgresql_console{known}.ask("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"), "t");
  EXPECT_FALSE(postgresql_console{trusting}.connected());
  EXPECT_FALSE(postgresql_console{where + "disable"}.connected());
}

/// In another process: starts a server, says which processes it has, and ends as it may.
[[noreturn]] void start_and_die(int tell) {
  postgresql_server server;
  const auto client = server.console();
  server.stop();  // as they would notice nothing
  const auto processes = server.processes();
  const auto folder = server.socket_folder();
  [[maybe_unused]] auto written = ::write(tell, folder.c_str(), folder.size() + 1);
  written = ::write(tell, processes.data(), processes.size() * sizeof processes[0]);
  ::raise(SIGKILL);
  std::abort();
}

TEST(postgresql_server_itself, leaves_nothing_behind_when_the_test_process_is_killed) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const ::pid_t test = ::fork();
  if (test == 0) start_and_die(pipe[1]);
  ::close(pipe[1]);
  std::string said;
  char some[4096];
  for (ssize_t count = 0; (count = ::read(pipe[0], some, sizeof some)) > 0;) {
    said.append(some, static_cast<std::size_t>(count));
  }
  ::close(pipe[0]);
  ::waitpid(test, nullptr, 0);
  const std::string folder = said.c_str();
  const std::string_view numbers = std::string_view{said}.substr(folder.size() + 1);
  std::vector<::pid_t> processes(numbers.size() / sizeof(::pid_t));
  std::memcpy(processes.data(), numbers.data(), processes.size() * sizeof(::pid_t));
  EXPECT_GT(processes.size(), 1);
  EXPECT_TRUE(left_of(processes).empty());
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (std::filesystem::exists(folder) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace holdfast::faults
