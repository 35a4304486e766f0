// SPDX-License-Identifier: Apache-2.0
#include "stores/doctor/succession.hpp"

#include <algorithm>
#include <vector>

#include "base/url.hpp"

namespace holdfast::doctor {

namespace {

using namespace std::chrono_literals;
using origin = token_source::origin;

constexpr std::uint64_t in_us(std::chrono::microseconds length) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0));
}

constexpr std::uint64_t day = in_us(24h);
// An ensemble begins a new range of 2^32 numbers with each election, and when a range is used up.
constexpr std::uint64_t range = std::uint64_t{1} << 32;

/// While clients move. For the larger one, a base is chosen; one with less than the smaller left is too
/// small.
struct headroom {
  std::uint64_t chosen;
  std::uint64_t least;
};
constexpr headroom headroom_of(origin former) {
  return former == origin::transactions ? headroom{256 * range, 16 * range} : headroom{30 * day, day};
}
constexpr std::uint64_t shortest_ttl = in_us(100ms);

constexpr condition token_conditions[]{
    {"tokens", grade::unknown, "is_known=no",
     "how far the tokens of {former} have come cannot be read; the largest that it shows is {largest}",
     "whether a fence admits this store's tokens after those is not known",
     "examine that store by itself, which says why: holdfast doctor --store URL"},
    {"tokens", grade::kept, "suffices=yes are_clocks=yes",
     "this store and {former} draw microseconds since 1970, and with token_base={base} this one is not "
     "behind by more than 100 ms, which suffices"},
    {"tokens", grade::kept, "suffices=yes days",
     "the tokens of {former} have come to {reached}: token_base={base} suffices, for {days:day} more"},
    {"tokens", grade::kept, "suffices=yes",
     "the tokens of {former} have come to {reached}: token_base={base} suffices"},
    {"tokens", grade::broken, "fits=no", "the tokens of {former} have come to {reached}",
     "no token_base of this store is large enough", "stop all clients, and empty the fences"},
    {"tokens", grade::warning, "",
     "the tokens of {former} have come to {reached}, and this store's begin at {next} with token_base={base}",
     "a fence that has seen tokens of that store refuses this store's, or admits a late writer with an "
     "older token",
     "add token_base={needed} to this store's URL in all of its clients, and keep it"},
};

/// A base that people can read: the next multiple.
std::uint64_t rounded_up(std::uint64_t n) {
  constexpr std::uint64_t step = 1'000'000'000;
  return (n + step - 1) / step * step;
}

}  // namespace

void token_source::add_clock(const facts& of_server) {
  if (!of_server.has("clock_distance")) return;
  const std::chrono::milliseconds distance{of_server.number("clock_distance")};
  const auto ahead = of_server.text("clock_side") == "behind" ? -distance : distance;
  least_ahead = of == origin::unknown ? ahead : std::min<std::chrono::microseconds>(least_ahead, ahead);
  most_ahead = of == origin::unknown ? ahead : std::max<std::chrono::microseconds>(most_ahead, ahead);
  of = origin::clock;
}

void token_source::add_transaction(std::uint64_t last) {
  of = origin::transactions;
  transaction = std::max(transaction, last);
}

token_source own_clock() {
  token_source own;
  own.of = origin::clock;
  return own;
}

std::chrono::microseconds host_time() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch());
}

finding judge(const succession& of) {
  const auto by_clock = [&](std::chrono::microseconds ahead) { return in_us(of.now + ahead); };
  const bool was_clock = of.before.of == origin::clock;
  const bool is_clock = of.here.of == origin::clock;
  const std::uint64_t drawn = was_clock ? by_clock(of.before.most_ahead) : of.before.transaction;
  const std::uint64_t reached = std::max(of.largest.value(), of.before.base + drawn);
  // A transaction number may begin anew before the move, if the server loses its log. A clock goes on.
  const std::uint64_t presumed = is_clock ? by_clock(of.here.least_ahead) : 0;
  const std::uint64_t next = of.here.base + std::max(presumed, of.here.transaction);
  const headroom room = headroom_of(of.before.of);
  const bool are_clocks = was_clock && is_clock;
  const bool suffices = are_clocks ? next + shortest_ttl >= reached : next >= reached + room.least;
  const std::uint64_t wanted = reached + room.chosen;
  const std::uint64_t needed = wanted > presumed ? rounded_up(wanted - presumed) : 0;

  facts known{"after " + of.former};
  known.set("former", of.former);
  known.set("largest", of.largest ? std::to_string(of.largest.value()) : "none");
  known.set_flag("is_known", of.before.of != origin::unknown);
  known.set_flag("are_clocks", are_clocks);
  known.set_flag("suffices", suffices);
  known.set_flag("fits", needed <= static_cast<std::uint64_t>(largest_token_base));
  known.set("reached", std::to_string(reached));
  known.set("next", std::to_string(next));
  known.set("base", std::to_string(of.here.base));
  known.set("needed", std::to_string(needed));
  if (suffices && was_clock && !is_clock)
    known.set("days", static_cast<std::int64_t>((next - reached) / day));
  std::vector<finding> found;
  examine(token_conditions, known, found);
  return found.front();
}

}  // namespace holdfast::doctor
