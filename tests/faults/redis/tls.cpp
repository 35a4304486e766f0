// SPDX-License-Identifier: Apache-2.0
// Who is spoken to, and who is let in.

#include <array>
#include <cerrno>
#include <future>
#include <mutex>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "faults/faults.hpp"
#include "faults/redis/documented_user.hpp"
#include "faults/rotation.hpp"
#include "support/canned_server.hpp"
#include "support/child_process.hpp"
#include "support/redis_server.hpp"

namespace holdfast::faults {
namespace {

using test::redis_server;
using testing::HasSubstr;
using testing::Not;

failing try_to_lock(const std::string& url, const lock_options& options = hasty()) {
  return failure_of([&] {
    client locks{url, client_options{}.locks(options)};
    mutex{locks, "stock"}.lock();
  });
}

class redis_tls : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& host, const std::string& options) const {
    return "rediss://" + host + ":" + std::to_string(server_.tls_port()) + "?failover_guard=0&" + options;
  }
  [[nodiscard]] std::string our_pair() const {
    return "cert=" + server_.client_pair().certificate + "&key=" + server_.client_pair().key;
  }
  [[nodiscard]] std::string trusted() const { return "ca=" + server_.authority().authority(); }

  redis_server server_{{.tls = true}};
};

TEST_F(redis_tls, locks_for_those_who_know_the_server_and_are_known_to_it) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    EXPECT_FALSE(try_to_lock(at(host, trusted() + "&" + our_pair()), patient()).code) << host;
  }
}

TEST_F(redis_tls, trusts_no_certificate_whose_authority_it_does_not_know) {
  const auto unknown =
      try_to_lock(at("localhost", our_pair()));  // the system's authorities know nothing of it
  EXPECT_EQ(unknown.code, errc::permission_denied) << unknown.text;
  EXPECT_THAT(unknown.text, HasSubstr("certificate"));

  const test::scratch_folder folder;
  const test::certificates other{folder};
  const auto foreign = try_to_lock(at("localhost", "ca=" + other.authority() + "&" + our_pair()));
  EXPECT_EQ(foreign.code, errc::permission_denied) << foreign.text;
}

TEST_F(redis_tls, trusts_no_certificate_of_another_name) {
  for (const char* name : {"other.example", "127.0.0.2", "localhost.other.example"}) {
    const auto wrong = try_to_lock(at("localhost", trusted() + "&" + our_pair() + "&tls_name=" + name));
    EXPECT_EQ(wrong.code, errc::permission_denied) << wrong.text;
    EXPECT_THAT(wrong.text, HasSubstr("not trusted"));
  }
}

TEST_F(redis_tls, looks_away_when_it_is_told_to) {
  EXPECT_FALSE(try_to_lock(at("localhost", "tls_verify=0&" + our_pair()), patient()).code);
}

// The server refuses within the handshake of TLS 1.2.
TEST_F(redis_tls, names_the_reason_where_it_was_told_to_look_away) {
  const redis_server old{{.lines = {"tls-protocols TLSv1.2"}, .tls = true}};
  const auto refused =
      try_to_lock("rediss://localhost:" + std::to_string(old.tls_port()) + "?failover_guard=0&tls_verify=0");
  EXPECT_EQ(refused.code, errc::unavailable) << refused.text;
  EXPECT_THAT(refused.text, Not(HasSubstr("not trusted")));
}

/// Stdin, as a program gets it from a pipe.
class piped_stdin {
 public:
  explicit piped_stdin(const std::string& text) : saved_{::dup(STDIN_FILENO)} {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::system_error{errno, std::generic_category()};
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    [[maybe_unused]] const auto written = ::write(ends[1], text.data(), text.size());
    ::close(ends[1]);
  }
  ~piped_stdin() {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }
  piped_stdin(const piped_stdin&) = delete;
  piped_stdin& operator=(const piped_stdin&) = delete;
  /// What nobody has read.
  static std::string rest() {
    std::array<char, 256> bytes{};
    const auto n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    return {bytes.data(), n < 0 ? 0 : static_cast<std::size_t>(n)};
  }

 private:
  int saved_;
};

TEST_F(redis_tls, asks_nobody_for_the_pass_phrase_of_a_key) {
  const test::scratch_folder folder;
  const auto locked = folder.file("locked.key");
  test::child_process command{{"openssl", "pkey", "-in", server_.client_pair().key, "-aes256", "-passout",
                               "pass:hunter2", "-out", locked},
                              {.output = folder.file("openssl.log")}};
  ASSERT_EQ(command.wait(60s), 0) << bytes_of(folder.file("openssl.log"));
  const piped_stdin input{"hunter2\n"};
  const auto refused = try_to_lock(
      at("localhost", trusted() + "&cert=" + server_.client_pair().certificate + "&key=" + locked));
  EXPECT_EQ(refused.code, errc::invalid_url) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr(locked + " is encrypted"));
  EXPECT_EQ(piped_stdin::rest(), "hunter2\n") << "it is not ours to read";
}

TEST_F(redis_tls, needs_a_certificate_where_the_server_asks_for_one) {
  const auto nobody = try_to_lock(at("localhost", trusted()));
  EXPECT_EQ(nobody.code, errc::unavailable) << nobody.text;
}

TEST_F(redis_tls, is_not_given_up_for_plain_text) {
  const auto plain = try_to_lock("redis://127.0.0.1:" + std::to_string(server_.tls_port()));
  EXPECT_TRUE(plain.code == errc::unavailable || plain.code == errc::corrupt_store) << plain.text;
  const auto secure =
      try_to_lock("rediss://localhost:" + std::to_string(server_.port()) + "?" + trusted() +
                  "&connect_timeout=1s");  // what is no TLS to it, the server waits for the end of
  EXPECT_EQ(secure.code, errc::unavailable) << secure.text;
  EXPECT_THAT(secure.text, HasSubstr("TLS"));
  EXPECT_EQ(server_.ask({"DBSIZE"}), "0");
}

TEST_F(redis_tls, says_which_file_it_cannot_use) {
  for (const char* options : {"ca=/nowhere/ca.pem", "cert=/nowhere/cert.pem", "ca=/etc/passwd"}) {
    const auto failed = failure_of([&] { client{at("localhost", options)}; });
    EXPECT_EQ(failed.code, errc::invalid_url) << failed.text;
    EXPECT_THAT(failed.text, HasSubstr(std::string{options}.substr(std::string{options}.find('/'))));
  }
  const auto half = failure_of([&] { client{at("localhost", "key=" + server_.client_pair().key)}; });
  EXPECT_EQ(half.code, errc::invalid_url);
}

TEST(redis_access, is_by_password_from_the_url_or_from_the_options) {
  redis_server server{{.password = "open sesame/@:"}};
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_FALSE(try_to_lock("redis://:open%20sesame%2F%40%3A@" + place + "?failover_guard=0", patient()).code);
  EXPECT_FALSE(
      try_to_lock("redis://default:open%20sesame%2F%40%3A@" + place + "?failover_guard=0", patient()).code);
  client locks{"redis://" + place + "?failover_guard=0", client_options{}.password("open sesame/@:")};
  EXPECT_NO_THROW(mutex(locks, "other").lock());
  client local{"unix:" + server.socket() + "?failover_guard=0&password=open%20sesame%2F%40%3A"};
  EXPECT_NO_THROW(mutex(local, "third").lock());
}

TEST(redis_access, is_by_the_password_that_is_valid_at_each_login) {
  redis_server server;
  const auto give = [&](const std::string& password) {
    server.ask({"ACL", "SETUSER", "rotating", "on", "resetpass", ">" + password, "allkeys", "allchannels",
                "allcommands"});
  };
  give("first");
  expect_rotation("redis://rotating@127.0.0.1:" + std::to_string(server.port()) + "?failover_guard=0",
                  "first", [&](const std::string& second) {
                    give(second);
                    server.ask({"CLIENT", "KILL", "USER", "rotating"});
                  });
}

TEST(redis_access, is_refused_at_once_and_tells_no_password) {
  redis_server server{{.password = "open sesame"}};
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  for (const std::string& user :
       {std::string{}, std::string{":wrong-hunter2@"}, std::string{"nobody:wrong-hunter2@"}}) {
    const auto refused = failure_of([&] {
      client locks{"redis://" + user + place};
      mutex{locks, "stock", endless()}.lock();
    });
    EXPECT_EQ(refused.code, errc::permission_denied) << refused.text;
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2")));
    EXPECT_THAT(refused.text, HasSubstr(place));
  }
}

// Servers and proxies that do not know a command repeat it, some of them cut short.
TEST(redis_access, tells_no_password_whatever_the_server_says_of_the_greeting) {
  for (const std::string said : {"ERR unsupported: HELLO 3 AUTH app hunter2-and-more",
                                 "WRONGPASS for `app` `hunter2-and-more`, and again "
                                 "hunter2-and-more",
                                 "DENIED HELLO 3 AUTH app hunter2-an",
                                 "ERR unknown command `HELLO` `3` `AUTH` `app` `hunter2-and-more`"}) {
    test::canned_server server{"-" + said + "\r\n"};
    const auto refused = failure_of([&] {
      client locks{"redis://app:hunter2-and-more@127.0.0.1:" + std::to_string(server.port()),
                   client_options{}.flush_limit(0ms).locks(hasty())};
      (void)mutex{locks, "stock"}.try_lock();
    });
    EXPECT_TRUE(refused.code) << said;
    EXPECT_THAT(refused.text, Not(HasSubstr("hunter2"))) << said;
  }
}

TEST(redis_access, needs_no_more_rights_than_the_documents_list) {
  redis_server server;
  const auto user = documented_user("redis.md");
  ASSERT_GT(user.size(), 3U);
  ASSERT_EQ(server.ask(user), "OK");
  server.forget_start();
  const std::string url = "redis://locks:secret@127.0.0.1:" + std::to_string(server.port());
  client one{url};
  client two{url};
  std::promise<void> changed;
  std::once_flag first;
  const auto watching = one.watch([&] { std::call_once(first, [&] { changed.set_value(); }); });
  std::promise<void> name_changed;
  std::once_flag first_of_name;
  const auto watching_name =
      two.watch("st}ock", [&] { std::call_once(first_of_name, [&] { name_changed.set_value(); }); });
  for (const char* name : {"stock", "st{o}ck", "st}ock"}) {
    shared_mutex here{one, name};
    shared_mutex there{two, name};
    here.lock();
    EXPECT_EQ(one.inspect(name)->holders.size(), 1U);
    auto waits = std::async(std::launch::async, [&] {
      there.lock_shared();
      there.unlock_shared();
    });
    here.unlock();
    waits.get();
    auto writer = here.acquire();
    writer.downgrade();
    EXPECT_EQ(writer.renew(), renewal::renewed);
    EXPECT_EQ(two.force_release(name), 1U);
    counting_semaphore permits{one, std::string{name} + "/permits", 2};
    permits.acquire();
    permits.release();
  }
  EXPECT_FALSE(one.list(true).empty());
  EXPECT_EQ(changed.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(name_changed.get_future().wait_for(60s), std::future_status::ready);
  EXPECT_EQ(server.ask({"ACL", "LOG"}), "") << "what was refused";
}

TEST(redis_access, is_for_a_database) {
  redis_server server;
  client third{server.url("/3")};
  client fourth{server.url("/4")};
  mutex one{third, "stock"};
  mutex two{fourth, "stock"};
  one.lock();
  EXPECT_TRUE(two.try_lock()) << "databases do not know of one another";
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
}

}  // namespace
}  // namespace holdfast::faults
