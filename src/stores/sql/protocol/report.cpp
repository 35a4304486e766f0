#include "stores/sql/protocol/report.hpp"

#include <cstdlib>

namespace holdfast::sql {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using grade = finding::grade;

constexpr auto slow = 50ms;               // of a round trip, of which a hand-over takes several
constexpr auto far_ahead = 1s;            // of a clock: more than a round trip explains
constexpr std::int64_t nearly_full = 90;  // percent

std::string text_of(milliseconds length) {
  if (length % 1s == 0ms) return std::to_string(length / 1s) + " s";
  return std::to_string(length.count()) + " ms";
}

}  // namespace

std::string text_of(std::chrono::seconds length) {
  if (length >= 10min) return std::to_string(length / 1min) + " min";
  return std::to_string(length.count()) + " s";
}

void report::add(std::string condition, grade result, std::string observed, std::string meaning,
                 std::string remedy) {
  found_.push_back(
      {subject_, std::move(condition), result, std::move(observed), std::move(meaning), std::move(remedy)});
}

/// Only the steps of that clock matter. One that is wrong will be set.
void report::add_clock(microseconds ahead) {
  const auto distance = std::chrono::duration_cast<milliseconds>(microseconds{std::abs(ahead.count())});
  if (distance < far_ahead) return kept("clock", "its clock agrees with this host's");
  add("clock", grade::warning,
      "its clock is " + text_of(distance) + (ahead.count() > 0 ? " ahead of" : " behind") + " this host's",
      "one of the two is wrong; if the server's is stepped forward, locks that are held end early",
      "timedatectl set-ntp true on both hosts; let the clock be slewed (chrony: makestep 1 3)");
}

void report::add_round_trip(microseconds length) {
  if (length < slow) return kept("latency", "a round trip takes " + std::to_string(length.count()) + " us");
  add("latency", grade::warning,
      "a round trip takes " + text_of(std::chrono::duration_cast<milliseconds>(length)),
      "each hand-over takes several of them, and short ttls may be over before they are renewed",
      "run clients nearer to the server, look at its load; a ttl of many times that");
}

void report::add_connections(std::int64_t used, std::int64_t most, std::string remedy) {
  if (most <= 0) return;
  std::string observed = std::to_string(used) + " of " + std::to_string(most) + " connections are in use";
  if (used * 100 / most < nearly_full) return kept("connections", std::move(observed));
  add("connections", grade::warning, std::move(observed),
      "a client that cannot connect acquires nothing, and one that has to reconnect loses its leases at "
      "their "
      "deadlines",
      std::move(remedy));
}

}  // namespace holdfast::sql
