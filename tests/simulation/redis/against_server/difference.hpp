#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

/// How many sequences to try: as many, or what HOLDFAST_SEQUENCES says, for a longer look than CI's.
[[nodiscard]] inline std::uint64_t sequences(std::uint64_t usual) {
  const char* wanted = std::getenv("HOLDFAST_SEQUENCES");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

struct difference {
  std::size_t at;  // how many steps went well before
  std::string of_server;
  std::string of_model;
};

/// What to print of steps that make a difference: as few of them as still make one.
/// \param compare carries steps out on both, from nothing: std::optional<difference>.
template <class Step, class Compare>
[[nodiscard]] std::string report(std::vector<Step> steps, const Compare& compare) {
  std::optional<difference> last;
  for (std::size_t i = steps.size(); i-- > 0;) {
    std::vector<Step> fewer = steps;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    auto found = compare(fewer);
    if (!found) continue;
    fewer.resize(found->at + 1);
    steps = std::move(fewer);
    last = std::move(found);
    i = std::min(i, steps.size());
  }
  if (!last) last = compare(steps);
  std::string text;
  for (const Step& s : steps) text += "  " + describe(s) + '\n';
  if (!last) return text + "but not always";
  return text + "server: " + last->of_server + "\nmodel:  " + last->of_model;
}

/// Draws the steps of each seed, and reports those that the two answer differently, twice: a machine that
/// stalls for longer than the slack makes a difference once.
template <class Draw, class Compare>
void compare_many(std::uint64_t usual, const Draw& draw, const Compare& compare) {
  constexpr int few = 20;  // as many differences are worth a look at once
  int found = 0;
  for (std::uint64_t seed = 1; seed <= sequences(usual) && found < few; ++seed) {
    const auto both = [&](const auto& steps) { return compare(seed, steps); };
    auto steps = draw(seed);
    const auto first = both(steps);
    if (!first || !both(steps)) continue;
    steps.resize(first->at + 1);
    ADD_FAILURE() << "seed " << seed << '\n' << report(std::move(steps), both);
    ++found;
  }
}

}  // namespace holdfast::sim
