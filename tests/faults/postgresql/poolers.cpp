// PgBouncer between client and server.

#include <csignal>

#include "faults/postgresql/on_postgresql.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

using testing::HasSubstr;

/// A pooler of a server, which takes whoever comes.
class pgbouncer {
 public:
  pgbouncer(const postgresql_server& server, const std::string& mode, const std::string& lines = {}) {
    const auto configuration = folder_.file("pgbouncer.ini");
    write_bytes(
        configuration,
        "[databases]\nholdfast = host=127.0.0.1 port=" + std::to_string(server.port()) +
            " user=holdfast\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + std::to_string(port()) +
            "\nunix_socket_dir =\nauth_type = any\npool_mode = " + mode + '\n' + lines);
    const auto user = test::unprivileged_user("postgres");
    if (user) test::hand_over(folder_.path(), *user);
    process_.emplace(std::vector<std::string>{"pgbouncer", configuration},
                     test::child_process::settings{
                         .folder = folder_.path().string(), .output = folder_.file("log"), .user = user});
    const auto wait_limit = boot_clock::now() + 60s;
    while (!console()->connected()) {
      if (!process_->running() || boot_clock::now() > wait_limit) {
        throw std::runtime_error{"pgbouncer does not answer: " + bytes_of(folder_.file("log"))};
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  [[nodiscard]] std::uint16_t port() const { return port_.number(); }
  [[nodiscard]] std::unique_ptr<test::postgresql_console> console() const {
    return std::make_unique<test::postgresql_console>("host=127.0.0.1 user=holdfast dbname=holdfast port=" +
                                                      std::to_string(port()));
  }
  void stop() { process_->stop(); }
  void go_on() { process_->go_on(); }

 private:
  test::scratch_folder folder_;
  test::reserved_port port_;
  std::optional<test::child_process> process_;
};

class postgresql_poolers : public on_postgresql {
 protected:
  void SetUp() override {
    const auto nothing = [] { return test::child_process{{"pgbouncer", "--version"}, {}}.wait(60s); };
    try {
      ASSERT_EQ(nothing(), 0);
    } catch (const std::system_error&) {
      GTEST_SKIP() << "pgbouncer is not installed";
    }
  }
};

TEST_F(postgresql_poolers, of_transactions_or_statements_are_refused_at_once) {
  for (const std::string mode : {"transaction", "statement"}) {
    const pgbouncer pooler{server_, mode};
    const auto refused = failure_of([&] {
      client locks{server_.url_through(pooler.port())};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("connection pooler"));
    EXPECT_THAT(refused.text, HasSubstr("connect directly"));
    EXPECT_THAT(refused.text, HasSubstr("pooler=session"));
  }
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'"), 0);
}

// Whatever they pool: whether and when they end a session is their own affair.
TEST_F(postgresql_poolers, are_refused_where_locks_end_with_a_session) {
  for (const std::string mode : {"transaction", "session"}) {
    const pgbouncer pooler{server_, mode};
    const auto refused = failure_of([&] {
      client locks{server_.url_through(pooler.port(), "?mode=session")};
      mutex{locks, "stock"}.lock();
    });
    EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("connection pooler"));
    EXPECT_THAT(refused.text, HasSubstr("connect directly"));
    EXPECT_THAT(refused.text, testing::Not(HasSubstr("pooler=session")));
  }
}

TEST_F(postgresql_poolers, of_sessions_serve_those_who_say_so) {
  const pgbouncer pooler{server_, "session"};
  const auto unsaid = failure_of([&] {
    client locks{server_.url_through(pooler.port())};
    mutex{locks, "stock"}.lock();
  });
  EXPECT_EQ(unsaid.code, errc::unavailable) << unsaid.text;

  const auto url = server_.url_through(pooler.port(), "?pooler=session");
  client locks{url};
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start(url);
  waiter->tell("hold stock ttl=3600000");  // a look of its own would come after 20 minutes
  expect_waiter(locks);
  client direct{server_.url()};
  EXPECT_FALSE(mutex(direct, "stock").try_lock());
  const auto held_token = held.token();
  EXPECT_FALSE(held.release());
  EXPECT_GT(hear_token(*waiter), held_token);
  EXPECT_EQ(waiter->ask("release"), "released");

  auto again = mutex{locks, "stock"}.acquire();
  EXPECT_GE(terminate_all(), 2);
  EXPECT_EQ(renew(again), renewal::renewed);
}

// What a client leaves in a session is not for the next one who gets it.
TEST_F(postgresql_poolers, of_sessions_get_them_back_as_they_were) {
  const pgbouncer pooler{server_, "session", "default_pool_size = 1\n"};
  for (int turn = 0; turn < 3; ++turn) {
    client locks{server_.url_through(pooler.port(), "?pooler=session")};
    EXPECT_FALSE(mutex(locks, "stock", patient()).acquire().release());
  }
  const auto next = pooler.console();
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_listening_channels()"), "0");
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"),
            "0");
  EXPECT_EQ(next->ask("SELECT count(*) FROM pg_prepared_statements"), "0");
  expect_free();
}

// Said of one that pools transactions, it is found out where another connection gets in between.
TEST_F(postgresql_poolers, of_transactions_that_are_said_to_pool_sessions_are_found_out) {
  const pgbouncer pooler{server_, "transaction", "server_round_robin = 1\n"};
  std::vector<std::unique_ptr<test::postgresql_console>> others;
  for (int each = 0; each < 3; ++each) {
    others.push_back(pooler.console());
    EXPECT_EQ(others.back()->ask("BEGIN"), "");
  }
  for (const auto& each : others) EXPECT_EQ(each->ask("COMMIT"), "");
  const auto refused = failure_of([&] {
    client locks{server_.url_through(pooler.port(), "?pooler=session")};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
}

// A session that was another client's has its settings.
TEST_F(postgresql_poolers, of_transactions_are_found_out_by_what_another_client_has_left) {
  const pgbouncer pooler{server_, "transaction", "default_pool_size = 1\n"};
  EXPECT_EQ(pooler.console()->ask("SET search_path = pg_catalog, pg_temp"), "");
  const auto refused = failure_of([&] {
    client locks{server_.url_through(pooler.port(), "?pooler=session")};
    mutex{locks, "stock", hasty()}.lock();
  });
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("pooler"));
}

TEST(postgresql_url, knows_no_other_pooler) {
  for (const char* pooler : {"transaction", "statement", "1", ""}) {
    const auto refused = failure_of([&] { client{std::string{"postgresql://localhost/?pooler="} + pooler}; });
    EXPECT_EQ(refused.code, errc::invalid_url) << pooler;
    EXPECT_THAT(refused.text, HasSubstr("pooler"));
  }
}

}  // namespace
}  // namespace holdfast::faults
