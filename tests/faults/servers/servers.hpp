// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "faults/faults.hpp"
#include "support/witness.hpp"

namespace holdfast::faults {

/// A server in tests that say the same of several kinds. What only some can do is asked of those alone whose
/// kind says so.
class server {
 public:
  virtual ~server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// A store URL by this port, its own or a proxy's; `options` as in "?answer_timeout=1s".
  [[nodiscard]] virtual std::string url(std::uint16_t port, const std::string& options) const = 0;
  virtual void stop() = 0;
  virtual void go_on() = 0;
  virtual void kill() = 0;
  virtual void start() = 0;
  virtual void start_empty() {}
  virtual void set_clock(std::chrono::seconds /*ahead*/) {}
  /// So many claims right behind this lease, with tokens one above the other, as they stand in its queue.
  /// They end when it does.
  /// \param text_size of what each says of itself, in bytes; 0: what the lease does.
  virtual void queue(const lease& /*behind*/, std::size_t /*count*/, std::size_t /*text_size*/) {}
  /// The first of those claims has ended a while ago.
  virtual void end_first_queued(const lease& /*behind*/) {}
  /// Of our clients, as it counts them.
  virtual std::int64_t connections() = 0;
  /// What clients might leave at the server, by name.
  struct remains {
    std::int64_t count = 0;
    std::int64_t may_grow_by = 0;
  };
  virtual std::map<std::string, remains> what_is_left() = 0;
};

/// One that is asked in SQL. The store's tables have their usual names.
class database : public server {
 public:
  /// A connection, which lives as long as this. It answers with rows, one a line, their values with "|"
  /// between; with nothing where there are none; with "-" and the number of the error, and its text.
  using session = std::function<std::string(const std::string& sql)>;

  virtual void shut_down() = 0;
  /// As who may do everything.
  virtual std::string ask(const std::string& sql) = 0;
  /// \param user without a password; empty: who may do everything.
  virtual session connect(const std::string& user = {}) = 0;
  /// Our clients' connections, as it counts them.
  virtual std::int64_t sessions() = 0;
  /// Ends them, as an operator would.
  virtual void end_sessions() = 0;
  /// As one does to a primary that is to be replaced. Sessions stay.
  virtual void set_read_only(bool is_so) = 0;
  /// Of those, in session mode, with which claims end that are in the table.
  virtual std::int64_t living_claimants() = 0;
  /// Transactions of our clients that are open while nothing is asked in them.
  virtual std::int64_t idle_transactions() = 0;
  /// Whether this stands in the text of a statement that a client of ours sent, as its log of them has it:
  /// without parameters.
  virtual bool has_logged(const std::string& text) = 0;
  /// Takes all room that is left on the small disk, and gives it back.
  virtual void fill_disk() = 0;
  virtual void clear_disk() = 0;
  /// "FUNCTION" or "PROCEDURE".
  [[nodiscard]] virtual std::string kind_of_routine() const = 0;
  /// Routines that are called by routines alone.
  [[nodiscard]] virtual std::vector<std::string> inner_routines() const { return {}; }
  /// The statement by which a person calls one of ours. Its first value is what it says first.
  [[nodiscard]] virtual std::string call_of(const std::string& routine,
                                            const std::string& arguments) const = 0;
  /// So many bytes, each this one, as an expression.
  [[nodiscard]] virtual std::string bytes(const std::string& hex, int count) const = 0;
  /// Makes the tables, and a user "guest" who may lock.
  virtual void make_guest() = 0;

  void execute(const std::string& sql) { EXPECT_EQ(ask(sql), "") << sql; }
  std::int64_t number(const std::string& sql) { return std::stoll(ask(sql)); }
  std::int64_t claims() { return number("SELECT count(*) FROM holdfast_locks_claims"); }
  std::int64_t connections() final { return sessions(); }
  std::map<std::string, remains> what_is_left() override {
    return {{"names", {number("SELECT count(*) FROM holdfast_locks")}}, {"claims", {claims()}}};
  }
  void queue(const lease& behind, std::size_t count, std::size_t text_size) final {
    const std::string digits =
        "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION "
        "ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    const std::string number = "(a.d + 10 * b.d + 100 * c.d + 1000 * e.d)";
    const std::string text =
        text_size == 0 ? "h.metadata" : "REPEAT('xxxxxxxxxx', " + std::to_string(text_size / 10) + ')';
    execute(
        "INSERT INTO holdfast_locks_claims (name, token, owner, client, weight, ttl, expires, since, "
        "metadata) SELECT h.name, h.token + 1 + " +
        number + ", h.owner, h.client, h.weight, h.ttl, h.expires, h.since, " + text +
        " FROM holdfast_locks_claims h, " + digits + " a, " + digits + " b, " + digits + " c, " + digits +
        " e WHERE h.name = '" + behind.name() + "' AND " + number + " < " + std::to_string(count));
    execute("UPDATE holdfast_locks SET token = token + " + std::to_string(count) + " WHERE name = '" +
            behind.name() + "'");
  }
  void end_first_queued(const lease& behind) final {
    execute("UPDATE holdfast_locks_claims SET expires = since WHERE token = " +
            std::to_string(behind.token().value() + 1));
  }
};

struct server_settings {
  bool own_clock = false;   ///< its wall clock is what `set_clock` says
  bool durable = false;     ///< what it has answered outlives it
  bool small_disk = false;  ///< for our tables; see support/small_disk.hpp
  bool log_statements = false;
  bool few_connections = false;
};

template <class Server>
struct kind_of {
  std::string name;               ///< in the names of tests
  std::size_t connections = 1;    ///< of a client that locks
  std::size_t shortest_part = 3;  ///< of a request, in bytes, that tests should meet
  bool keeps_sessions = false;    ///< a claim ends with its client's session, not with a ttl of its own
  bool has_clock = true;          ///< that can be set
  bool can_start_empty = true;    ///< after a kill
  int some_clients = 60;          ///< one after the other, in a run of scripts/test
  int many_clients = 600;         ///< in one of scripts/hunt
  std::function<std::unique_ptr<Server>(const server_settings&)> start;
};
/// What a failed test shows of it.
template <class Server>
void PrintTo(const kind_of<Server>& kind, std::ostream* to) {
  *to << kind.name;
}

using server_kind = kind_of<server>;
using database_kind = kind_of<database>;

/// All that the files of this folder name.
[[nodiscard]] std::vector<server_kind>& server_kinds();
[[nodiscard]] std::vector<database_kind>& database_kinds();

/// Puts a kind under the tests for all: one object of this type, at namespace scope, in a file of its own.
struct test_on {
  explicit test_on(const server_kind& kind);
  explicit test_on(const database_kind& kind);
};

/// One of tests/support by the names of the above.
template <class Base, class Real>
class wrapped : public Base {
 public:
  explicit wrapped(typename Real::settings settings) : real_{std::move(settings)} {}
  [[nodiscard]] std::uint16_t port() const override { return real_.port(); }
  void stop() override { real_.stop(); }
  void go_on() override { real_.go_on(); }
  void kill() override { real_.kill(); }
  void start() override { real_.start(); }
  void start_empty() override {
    if constexpr (requires { real_.start_empty(); }) real_.start_empty();
  }
  void set_clock(std::chrono::seconds ahead) override {
    if constexpr (requires { real_.set_clock(ahead); }) real_.set_clock(ahead);
  }

 protected:
  Real real_;
};

/// A server of the kind, and the lock "stock".
template <class Server>
class on_each : public testing::TestWithParam<kind_of<Server>> {
 protected:
  explicit on_each(const server_settings& settings = {}) : server_{this->GetParam().start(settings)} {}

  [[nodiscard]] std::string url(const std::string& options = {}) const {
    return server_->url(server_->port(), options);
  }
  /// Three other processes, each of which holds so many times while a witness looks on.
  class contending_actors {
   public:
    /// \param where a store URL.
    /// \param options of each lock.
    contending_actors(const std::string& where, int turns, const std::string& options = {}) : turns_{turns} {
      for (auto& each : members_) {
        each = start(where, "retry=60000");
        each->tell("contend stock " + folder_.file("witness") + ' ' + std::to_string(turns) + options);
      }
    }
    /// Returns when so many turns were taken, or when they are not: one who failed takes none any more, and
    /// says why to `expect_order`.
    void await(std::int64_t wanted) const {
      comes_true([&] { return witness_.count() >= wanted; }, 30s);
    }
    void expect_order() {
      for (const auto& each : members_) EXPECT_EQ(hear_answer(*each), "contended");
      EXPECT_EQ(witness_.overlaps(), 0);
      EXPECT_EQ(witness_.fragile_count(), static_cast<int>(members_.size()) * turns_);
      for (auto& each : members_) each.reset();
    }

   private:
    int turns_;
    test::scratch_folder folder_;
    test::witness witness_{folder_.file("witness")};
    std::array<std::unique_ptr<actor>, 3> members_;
  };
  /// Of locks of several actors whose notifications get lost: each costs a third of a ttl.
  [[nodiscard]] std::string hurry() const { return this->GetParam().keeps_sessions ? "" : " ttl=6000"; }

  /// Nothing of what was done stays: the name is free, and nobody stands in any queue.
  void expect_free() {
    client direct{url()};
    EXPECT_TRUE(mutex(direct, "stock").try_acquire_for(60s));
    const auto in_use = [](const lock_summary& each) { return each.holders > 0 || each.waiters > 0; };
    await(
        [&] {
          const auto all = direct.list();
          return std::none_of(all.begin(), all.end(), in_use);
        },
        "something is left behind");
  }

  std::unique_ptr<Server> server_;
};
using on_each_server = on_each<server>;
using on_each_database = on_each<database>;

template <class Server>
std::vector<kind_of<Server>> those_of(const std::vector<kind_of<Server>>& all,
                                      bool (*wanted)(const kind_of<Server>&)) {
  std::vector<kind_of<Server>> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), wanted);
  return some;
}
template <class Server>
bool any_kind(const kind_of<Server>&) {
  return true;
}

}  // namespace holdfast::faults

/// Runs a fixture's tests on every server of those kinds that `WANTED` lets through.
#define HOLDFAST_ON_EACH_SERVER(FIXTURE, KINDS, WANTED)                              \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FIXTURE);                            \
  INSTANTIATE_TEST_SUITE_P(, FIXTURE, testing::ValuesIn(those_of(KINDS(), +WANTED)), \
                           [](const auto& of) { return of.param.name; })
