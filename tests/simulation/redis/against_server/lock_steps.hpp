#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "simulation/redis/against_server/random_choices.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

/// A request of one of the owners, who are some one client's, some the other's; or what somebody who is no
/// client of ours does to a name's keys. Without tokens: each server draws its own.
struct lock_step {
  enum class trick : std::uint8_t {
    none,
    foreign_lock,     // a foreign client holds, if nobody does
    lock_gone,        // whoever held alone has expired, or a foreign client has released
    claim_over,       // the owner's claim has expired
    fence_gone,       // the counter is lost
    high_fence,       // the counter is ahead of the clock, as after clocks were set back
    wrong_lock,       // the lock's key holds something that is no lock
    wrong_queue,      // a side key does
    names_forgotten,  // all side keys of the name are gone
  };
  enum class token : std::uint8_t { its_own, unknown, wrong };
  struct hold {
    std::size_t name;
    std::size_t owner;
  };

  trick played = trick::none;
  test::task task{};
  std::size_t name = 0;
  std::size_t owner = 0;
  token known = token::its_own;
  std::int64_t weight = 0;
  std::int64_t capacity = 0;
  std::int64_t ttl_ms = 0;
  bool wait = false;
  bool idle = false;
  std::vector<hold> batch;
};

inline constexpr std::size_t lock_owners = 6;
inline constexpr std::size_t lock_names = 3;

/// Up to `most_lock_steps`: each has a ttl of its own, ten seconds from any other's, so that no delay of a
/// test decides which of two claims ends first.
[[nodiscard]] std::vector<lock_step> draw_lock_steps(std::uint64_t seed, std::size_t count);
inline constexpr std::size_t most_lock_steps = 61;
[[nodiscard]] std::string describe(const lock_step& s);

}  // namespace holdfast::sim
