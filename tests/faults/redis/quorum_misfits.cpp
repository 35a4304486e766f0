// SPDX-License-Identifier: Apache-2.0
// Servers of a quorum that answer, and are of no use: keys of another type, no rights, another password,
// nonsense. Each costs its vote, and nothing else.

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "faults/faults.hpp"
#include "faults/hostile_bytes.hpp"
#include "support/redis_quorum.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {
namespace {

using test::redis_quorum;
using testing::HasSubstr;

/// Everything that a lock is for, with two clients that the servers tell apart.
class redis_quorum_misfits : public testing::Test {
 protected:
  /// All of them answer something, so there is no silence; a machine that stands still must not make one.
  explicit redis_quorum_misfits(redis_quorum::settings of = {},
                                const std::string& options = "?node_timeout=20s")
      : servers_{std::move(of)}, url_{servers_.url(options)} {}

  /// Acquisition, refusal, renewal, a waiter and a hand-over, and what `inspect` says meanwhile.
  void expect_service(client& one, client& two) {
    auto held = mutex{one, "stock", patient()}.acquire();
    EXPECT_FALSE(is_granted(two));
    EXPECT_EQ(renew(held), renewal::renewed);
    auto next = std::async(std::launch::async, [&] { return mutex{two, "stock", patient()}.acquire(); });
    expect_waiter(one);
    EXPECT_EQ(one.inspect("stock").value_or(lock_state{}).holders.size(), 1U);
    EXPECT_FALSE(held.release());
    auto next_one = next.get();
    EXPECT_GT(next_one.token(), held.token());
    EXPECT_FALSE(next_one.release());
  }
  /// By a try; by another one where too few servers answered in time.
  static bool is_granted(client& by) {
    bool granted = false;
    await(
        [&] {
          const auto failed = failure_of([&] { granted = mutex(by, "stock").try_acquire().has_value(); });
          return failed.code != errc::unavailable && failed.code != errc::unknown_outcome;
        },
        "a try has no answer");
    return granted;
  }
  /// Of clients that were there before, and of one that comes.
  void expect_service() {
    expect_service(one_, two_);
    client newcomer{url_};
    expect_service(newcomer, one_);
  }
  /// A server is as good as any other again: with nobody's restart.
  void expect_vote_of(std::size_t server) {
    auto held = mutex{one_, "stock", patient()}.acquire();
    await(
        [&] {
          return renew(held) == renewal::renewed &&
                 servers_.server(server).ask({"EXISTS", "holdfast:stock"}) == "1" &&
                 servers_.server(server).ask({"TYPE", "holdfast:stock"}) == "string";
        },
        "a server is not used again");
    EXPECT_FALSE(held.release());
  }

  redis_quorum servers_;
  std::string url_;
  client one_{url_};
  client two_{url_};
};

TEST_F(redis_quorum_misfits, keys_of_another_type_cost_the_votes_of_their_servers) {
  const auto spoil = [&](std::size_t server) {
    servers_.server(server).ask({"HSET", "holdfast:stock", "a", "b"});
  };
  spoil(1);
  expect_service();
  spoil(4);
  expect_service();
  for (const std::size_t each : {1U, 4U})
    EXPECT_EQ(servers_.server(each).ask({"HGET", "holdfast:stock", "a"}), "b") << "it was not ours";
  spoil(0);
  const auto refused = known_failure_of([&] { mutex{one_, "stock", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::wrong_type) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("3 of 5 servers"));
  for (const std::size_t each : {0U, 1U, 4U}) servers_.server(each).ask({"DEL", "holdfast:stock"});
  expect_service();
  expect_vote_of(4);
}

TEST_F(redis_quorum_misfits, keys_of_another_type_beside_the_lock_cost_the_votes_of_their_servers) {
  const std::string side = "{holdfast:stock}\x1f";
  servers_.server(0).ask({"HSET", side + "fence", "a", "b"});
  servers_.server(3).ask({"SET", side + "waiters", "no set"});
  expect_service();
  EXPECT_EQ(servers_.server(0).ask({"HGET", side + "fence", "a"}), "b");
  EXPECT_EQ(servers_.server(3).ask({"GET", side + "waiters"}), "no set");
}

TEST_F(redis_quorum_misfits, each_cost_its_vote_as_long_as_they_are) {
  using commands = std::vector<std::vector<std::string>>;
  struct misfit {
    const char* reason;
    std::size_t server;
    commands spoil;
    commands cure;
  };
  const std::string own_port = std::to_string(servers_.server(1).port());
  for (const auto& [reason, server, spoil, cure] : {
           misfit{"denies the scripts",
                  2,
                  {{"ACL", "SETUSER", "default", "-@scripting"}},
                  {{"ACL", "SETUSER", "default", "+@all"}}},
           misfit{"denies the keys",
                  3,
                  {{"ACL", "SETUSER", "default", "resetkeys", "~elsewhere:*"}},
                  {{"ACL", "SETUSER", "default", "allkeys"}}},
           misfit{"has another password",
                  0,
                  {{"CONFIG", "SET", "requirepass", "another"},
                   {"CLIENT", "KILL", "TYPE", "normal"},
                   {"CLIENT", "KILL", "TYPE", "pubsub"}},
                  {{"CONFIG", "SET", "requirepass", ""}}},
           misfit{"may not write", 1, {{"REPLICAOF", "127.0.0.1", own_port}}, {{"REPLICAOF", "NO", "ONE"}}},
       }) {
    SCOPED_TRACE(reason);
    for (const auto& command : spoil) servers_.server(server).ask(command);
    expect_service();
    for (const auto& command : cure) servers_.server(server).ask(command);
    expect_vote_of(server);
  }
}

/// One of five is on a line on which somebody else answers its scripts.
class redis_quorum_forgeries : public redis_quorum_misfits {
 protected:
  redis_quorum_forgeries() : redis_quorum_misfits{{.on_lines = true}, "?node_timeout=500ms"} {}

  /// The line goes on for a moment when a test is over: the forger has what it needs by value.
  void forge(std::function<std::string(std::string_view answer)> forger) {
    servers_.line(hostile).forge(
        [forged = forged_, forger = std::move(forger)](std::string_view request, std::string_view answer) {
          // Nor what it says of the set of servers: one that names another set refuses clients as a whole.
          const bool is_vote = request.find("EVAL") != std::string_view::npos &&
                               answer.find("127.0.0.1:") == std::string_view::npos;
          if (!is_vote) return std::string{answer};
          ++*forged;
          return forger(answer);
        });
  }
  /// Of new clients: others may wait before they connect to that server again.
  void expect_service_beside_it(const std::string& input) {
    *forged_ = 0;
    SCOPED_TRACE(testing::PrintToString(input.substr(0, 60)));
    client one{url_};
    client two{url_};
    expect_service(one, two);
    await([&] { return *forged_ > 0; }, "nobody asks the hostile server");
    servers_.line(hostile).heal();
  }

  static constexpr std::size_t hostile = 2;
  std::shared_ptr<std::atomic<int>> forged_ = std::make_shared<std::atomic<int>>(0);
};

TEST_F(redis_quorum_forgeries, of_noise_cost_the_vote_of_one_server) {
  for (const std::string& noise :
       some_hostile_bytes()) {  // each may cost several times the silence of one server
    forge([noise](std::string_view) { return noise; });
    expect_service_beside_it(noise);
  }
  expect_vote_of(hostile);
}

// Well-formed votes: it grants everything to everybody, or nothing, with numbers at their ends.
TEST_F(redis_quorum_forgeries, of_votes_cost_the_vote_of_one_server) {
  const auto text = [](const std::string& digits) {
    return "$" + std::to_string(digits.size()) + "\r\n" + digits + "\r\n";
  };
  const std::string most = "18446744073709551615";
  const std::string none(20, '0');
  std::vector<std::string> votes;
  for (const std::string& number : {most, none, std::string{"99999999999999999999"}, std::string{"7"}}) {
    for (const char* overtaken : {":0\r\n", ":1\r\n"}) {
      votes.push_back("*7\r\n:1\r\n" + text(number) + text(number) + text(number) + text(most) + overtaken +
                      text("9223372036854775807"));
      votes.push_back("*7\r\n:1\r\n" + text(number) + text(number) + text(none) + text("0") + overtaken +
                      text("0"));
    }
    votes.push_back("*7\r\n:0\r\n" + text(number) + ":1\r\n:0\r\n:1\r\n" + text("") +
                    text("9223372036854775807"));
  }
  votes.push_back("*3\r\n:2\r\n" + text("") + text("9223372036854775807"));
  votes.push_back("*2\r\n:3\r\n:7\r\n");
  votes.push_back("*1\r\n:4\r\n");
  for (const std::string& each : votes) {
    forge([each](std::string_view) { return each; });
    expect_service_beside_it(each);
  }
  expect_vote_of(hostile);
}

/// The same answers, with other numbers in them.
std::string with_other_numbers(std::string_view answer, std::mt19937& random) {
  std::string said{answer};
  for (char& each : said) {
    const bool is_digit = each >= '0' && each <= '9';
    if (is_digit && random() % 16 == 0) each = static_cast<char>('0' + random() % 10);
  }
  return said;
}

TEST_F(redis_quorum_forgeries, of_numbers_let_no_two_in) {
  const auto chance = std::make_shared<std::mt19937>(20261125U);  // used on the proxy's thread alone
  forge([chance](std::string_view answer) { return with_other_numbers(answer, *chance); });
  const test::scratch_folder folder;
  const std::string file = folder.file("witness");
  test::witness inside{file};
  constexpr int turns = 60;
  std::vector<std::future<void>> running;
  for (int each = 0; each < 3; ++each) {
    running.push_back(std::async(std::launch::async, [&] {
      client locks{url_};
      test::witness place{file};
      for (int turn = 0; turn < turns; ++turn) {
        const auto held = mutex{locks, "stock", patient()}.acquire();
        place.visit(mode::exclusive, held.token());
      }
    }));
  }
  for (auto& each : running) each.get();
  EXPECT_EQ(inside.overlaps(), 0);
  EXPECT_EQ(inside.fragile_count(), 3 * turns);
  servers_.line(hostile).heal();
  expect_vote_of(hostile);
}

}  // namespace
}  // namespace holdfast::faults
