// SPDX-License-Identifier: Apache-2.0
// The floors under `holdfast bench` on PostgreSQL: what the same work costs through libpq alone.
//
//     postgresql_floor WHERE pair      [COUNT]   acquire and release, one prepared statement each, both awaited
//     postgresql_floor WHERE unawaited [COUNT]   the same, but the release is only sent
//     postgresql_floor WHERE advisory  [COUNT]   pg_try_advisory_lock, then pg_advisory_unlock
//     postgresql_floor WHERE hop       [COUNT]   from pg_notify in one process to the notification in another
//     postgresql_floor WHERE row_hop   [COUNT]   the same, but a row changes with it, which is to be kept
//
// WHERE is as libpq has it, "postgresql://user@host/database". Makes a table holdfast_floor there. Prints one
// JSON object.

#include <algorithm>
#include <cstdlib>
#include <libpq-fe.h>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <vector>

#include "floor.hpp"

namespace {

constexpr const char* create =
    "CREATE TABLE IF NOT EXISTS holdfast_floor (name text COLLATE \"C\" PRIMARY KEY, owner text,"
    " token bigint NOT NULL, expires timestamptz NOT NULL)";
constexpr const char* acquire =
    "INSERT INTO holdfast_floor AS held VALUES ($1, $2, 1, clock_timestamp() + interval '30 s')"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = held.token + 1,"
    " expires = excluded.expires WHERE held.expires < clock_timestamp() RETURNING token";
constexpr const char* notify = "SELECT pg_notify($1, $2)";
constexpr const char* change_and_notify =
    "WITH changed AS (INSERT INTO holdfast_floor AS held VALUES ($1, $2, 1, '-infinity')"
    " ON CONFLICT (name) DO UPDATE SET token = held.token + 1 RETURNING name)"
    " SELECT pg_notify(name, $2) FROM changed";
constexpr const char* release =
    "UPDATE holdfast_floor SET owner = NULL, expires = '-infinity' WHERE name = $1 AND owner = $2";

using values = std::vector<const char*>;

class connection {
 public:
  explicit connection(const std::string& where) : pq_{::PQconnectdb(where.c_str())} {
    if (::PQstatus(pq_) != CONNECTION_OK) fail();
  }
  ~connection() { ::PQfinish(pq_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void run(const char* sql) const { expect(::PQexec(pq_, sql), -1); }
  void prepare(const char* name, const char* sql) const {
    expect(::PQprepare(pq_, name, sql, 0, nullptr), -1);
  }
  /// \param rows that it must answer or change.
  void execute(const char* name, const values& parameters, int rows) const {
    expect(::PQexecPrepared(pq_, name, static_cast<int>(parameters.size()), parameters.data(), nullptr,
                            nullptr, 0),
           rows);
  }

  /// From now on statements are sent and their results taken, in order.
  void enter_pipeline() const { require(::PQenterPipelineMode(pq_)); }
  void send(const char* name, const values& parameters) const {
    require(::PQsendQueryPrepared(pq_, name, static_cast<int>(parameters.size()), parameters.data(), nullptr,
                                  nullptr, 0));
    require(::PQpipelineSync(pq_));  // which sends it, too
  }
  void take(int rows) const {
    expect(::PQgetResult(pq_), rows);
    if (::PQgetResult(pq_) != nullptr) fail();  // the end of the statement
    ::PGresult* synchronized = ::PQgetResult(pq_);
    if (::PQresultStatus(synchronized) != PGRES_PIPELINE_SYNC) fail();
    ::PQclear(synchronized);
  }

  /// What the next notification carries.
  [[nodiscard]] std::string notified() const {
    for (;;) {
      if (::PGnotify* note = ::PQnotifies(pq_); note != nullptr) {
        std::string payload = note->extra;
        ::PQfreemem(note);
        return payload;
      }
      ::pollfd readable{::PQsocket(pq_), POLLIN, 0};
      constexpr int limit_ms = 10'000;
      if (::poll(&readable, 1, limit_ms) < 1) give_up("the other process says nothing");
      require(::PQconsumeInput(pq_));
    }
  }

 private:
  [[noreturn]] void fail() const { give_up(::PQerrorMessage(pq_)); }
  void require(int success) const {
    if (success == 0) fail();
  }
  void expect(::PGresult* result, int rows) const {
    const auto status = ::PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail();
    if (rows >= 0 && std::atoi(::PQcmdTuples(result)) != rows) give_up("a statement did not do its work");
    ::PQclear(result);
  }

  ::PGconn* pq_;
};

template <class OnePair>
void measure_and_print(const char* scenario, long count, const OnePair& one_pair) {
  print(scenario, "libpq alone", measure_pairs(std::min(count, 1000L), count, one_pair));
}

void make_table(const connection& server) {
  server.run("SET client_min_messages = warning");  // not that it is there already
  server.run(create);
  server.run("DELETE FROM holdfast_floor");
}

void pair(const std::string& where, bool awaited, long count) {
  const connection server{where};
  make_table(server);
  server.prepare("acquire", acquire);
  server.prepare("release", release);
  const values claimant{"stock/sku-42", "0123456789abcdef"};
  if (awaited) {
    measure_and_print("pair", count, [&] {
      server.execute("acquire", claimant, 1);
      server.execute("release", claimant, 1);
    });
    return;
  }
  server.enter_pipeline();
  bool released = true;
  measure_and_print("unawaited", count, [&] {
    server.send("acquire", claimant);
    if (!released) server.take(1);  // of the pair before, which the server answers first
    server.take(1);
    server.send("release", claimant);
    released = false;
  });
  server.take(1);
}

void advisory(const std::string& where, long count) {
  const connection server{where};
  // A row is what is counted: there is none where the lock was not to be had.
  server.prepare("acquire", "SELECT 1 WHERE pg_try_advisory_lock($1::bigint)");
  server.prepare("release", "SELECT 1 WHERE pg_advisory_unlock($1::bigint)");
  const values key{"4242424242424242"};
  measure_and_print("advisory", count, [&] {
    server.execute("acquire", key, 1);
    server.execute("release", key, 1);
  });
}

/// One of two processes that send each other the time, by NOTIFY.
class player {
 public:
  player(const std::string& where, const char* hears, const char* speaks, const char* by)
      : ears_{where}, mouth_{where}, speaks_{speaks} {
    ears_.run((std::string{"LISTEN "} + hears).c_str());
    mouth_.prepare("speak", by);
  }

  void speak() const {
    const auto now = std::to_string(now_ns());
    mouth_.execute("speak", {speaks_, now.c_str()}, 1);
  }
  /// \return how long the notification took.
  [[nodiscard]] double hear() const { return us_since_sent(ears_.notified()); }

 private:
  connection ears_;
  connection mouth_;
  const char* speaks_;
};

void hop(const std::string& where, bool with_row, long count) {
  const long warm_up = std::min(count, 500L);
  const char* by = with_row ? change_and_notify : notify;
  make_table(connection{where});
  const player us{where, "floor_b", "floor_a", by};  // who hears before the other speaks
  const pid_t other = second_process();
  if (other == 0) {
    const player them{where, "floor_a", "floor_b", by};
    for (long i = 0; i < warm_up + count; ++i) {
      them.speak();
      static_cast<void>(them.hear());
    }
    std::_Exit(0);
  }
  const auto hops = measure_hops(warm_up, count, [&] {
    const double took_us = us.hear();
    us.speak();
    return took_us;
  });
  ::waitpid(other, nullptr, 0);
  print(with_row ? "row_hop" : "hop", "libpq alone", hops);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argument(argc, argv, 2);
  const long count = number(argc, argv, 3, 5000);
  if (count >= 1 && (scenario == "pair" || scenario == "unawaited")) {
    pair(argv[1], scenario == "pair", count);
  } else if (count >= 1 && scenario == "advisory") {
    advisory(argv[1], count);
  } else if (count >= 1 && (scenario == "hop" || scenario == "row_hop")) {
    hop(argv[1], scenario == "row_hop", count);
  } else {
    return usage("WHERE pair|unawaited|advisory|hop|row_hop [COUNT]");
  }
  return 0;
}
