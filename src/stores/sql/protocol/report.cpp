#include "stores/sql/protocol/report.hpp"

#include <algorithm>

namespace holdfast::sql {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using grade = finding::grade;

constexpr auto slow = 50ms;     // of a round trip, of which a hand-over takes several
constexpr auto far_ahead = 1s;  // of a clock: more than a round trip explains
constexpr double nearly_full = 0.9;
constexpr microseconds no_clock = std::chrono::hours{24} * 365 * 10'000;  // beyond any; has an absolute value

std::string text_of(milliseconds length) {
  if (length % 1s == 0ms) return std::to_string(length / 1s) + " s";
  return std::to_string(length.count()) + " ms";
}

}  // namespace

std::string text_of(std::chrono::seconds length) {
  if (length >= 10min) return std::to_string(length / 1min) + " min";
  return std::to_string(length.count()) + " s";
}

bool is_nearly_full(std::int64_t used, std::int64_t most) {
  return most > 0 && static_cast<double>(used) >= static_cast<double>(most) * nearly_full;
}

void report::add(std::string condition, grade result, std::string observed, std::string meaning,
                 std::string remedy) {
  found_.push_back(
      {subject_, std::move(condition), result, std::move(observed), std::move(meaning), std::move(remedy)});
}

/// Only the steps of that clock matter. One that is wrong will be set.
void report::add_clock(microseconds ahead) {
  const auto distance =
      std::chrono::duration_cast<milliseconds>(std::chrono::abs(std::clamp(ahead, -no_clock, no_clock)));
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
  if (!is_nearly_full(used, most)) return kept("connections", std::move(observed));
  add("connections", grade::warning, std::move(observed),
      "a client that cannot connect acquires nothing, and one that has to reconnect loses its leases at "
      "their "
      "deadlines",
      std::move(remedy));
}

void report::add_unread(const server_answers& from) {
  for (const auto& [part, reason] : from.unread) {
    add("examination", grade::unknown,
        std::string{"the "}.append(part).append(" could not be examined: ").append(reason),
        "whether the conditions are kept that depend on it is not known",
        "mend what the server says, or end the session that holds the lock, and examine again");
  }
}

}  // namespace holdfast::sql
