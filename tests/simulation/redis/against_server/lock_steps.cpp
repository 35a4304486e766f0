#include "simulation/redis/against_server/lock_steps.hpp"

#include <array>

#include "support/request_form.hpp"

namespace holdfast::sim {

namespace {

using test::task;
using trick = lock_step::trick;

// The more often a task stands here, the more often it comes.
constexpr std::array tasks = {task::acquire,  task::acquire,   task::acquire,   task::acquire,
                              task::acquire,  task::release,   task::release,   task::release,
                              task::withdraw, task::find,      task::look,      task::look,
                              task::renew,    task::renew,     task::downgrade, task::force_release,
                              task::inspect,  task::downgrade, task::list};
constexpr std::array tricks = {trick::foreign_lock, trick::foreign_lock, trick::lock_gone,
                               trick::lock_gone,    trick::claim_over,   trick::claim_over,
                               trick::claim_over,   trick::fence_gone,   trick::high_fence,
                               trick::wrong_lock,   trick::wrong_queue,  trick::names_forgotten};

void draw_mode(lock_step& s, random_choices& d) {
  constexpr std::array<std::int64_t, 3> rooms = {3, 3, 5};
  s.capacity = s.weight = store::full_capacity;
  // Two names are mutexes mostly, the third a semaphore.
  if (d.one_in(12) ? s.name != 2 : s.name == 2) {
    s.capacity = d.of(rooms);
    s.weight = static_cast<std::int64_t>(1 + d.below(3));
  } else if (d.one_in(2)) {
    s.weight = 1;
  }
}

lock_step draw_lock_step(random_choices& d) {
  lock_step s;
  s.name = d.below(lock_names);
  s.owner = d.below(lock_owners);
  if (d.one_in(8)) {
    s.played = d.of(tricks);
    return s;
  }
  s.task = d.of(tasks);
  s.known = d.one_in(10) ? lock_step::token::wrong : lock_step::token::its_own;
  if (s.task == task::find && d.one_in(2)) s.known = lock_step::token::unknown;
  s.wait = !d.one_in(4);
  s.idle = d.one_in(2);
  draw_mode(s, d);
  if (s.task == task::renew) {
    for (std::size_t n = 1 + d.below(5); n > 0; --n)
      s.batch.push_back({d.below(lock_names), d.below(lock_owners)});
  }
  return s;
}

}  // namespace

std::vector<lock_step> draw_lock_steps(std::uint64_t seed, std::size_t count) {
  random_choices d{seed};
  const std::size_t first = d.below(most_lock_steps);
  std::vector<lock_step> steps;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr std::size_t stride = 37;  // has no divisor in common with how many there are: none comes twice
    steps.push_back(draw_lock_step(d));
    steps.back().ttl_ms = static_cast<std::int64_t>(10'000 * (6 + (first + stride * i) % most_lock_steps));
  }
  return steps;
}

std::string describe(const lock_step& s) {
  constexpr std::array trick_names = {"none",       "foreign lock", "lock gone",
                                      "claim over", "fence gone",   "high fence",
                                      "wrong lock", "wrong queue",  "names forgotten"};
  constexpr std::array token_names = {"", ", token unknown", ", wrong token"};
  std::string text = s.played != trick::none ? trick_names.at(static_cast<std::size_t>(s.played))
                                             : test::task_names.at(static_cast<std::size_t>(s.task));
  text += ": name " + std::to_string(s.name) + ", owner " + std::to_string(s.owner) +
          token_names.at(static_cast<std::size_t>(s.known)) + ", ttl " + std::to_string(s.ttl_ms);
  if (s.task == task::acquire && s.played == trick::none) {
    text += ", " + std::to_string(s.weight) + " of " + std::to_string(s.capacity) +
            (s.wait ? ", waits" : ", does not wait");
  }
  for (const auto& h : s.batch) text += ", " + std::to_string(h.name) + " by " + std::to_string(h.owner);
  return s.idle ? text + ", idle too" : text;
}

}  // namespace holdfast::sim
