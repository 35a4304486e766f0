// SPDX-License-Identifier: Apache-2.0
// What of the contract runs by default: see extent.

#include "contract/gate.hpp"

#include <cstdlib>
#include <gmock/gmock.h>
#include <set>
#include <stdexcept>
#include <string>

namespace holdfast::contract {
namespace {

using fixture_names = std::set<std::string, std::less<>>;

/// On every kind. These show that a URL leads to a store that works: who holds, in which order, with which
/// token, what a notification brings, and what becomes of a client that is closed or gets no answer.
const fixture_names& smoke_suites() {
  static const fixture_names names{"closing", "exclusion", "fairness", "tokens", "unanswering", "watching"};
  return names;
}

/// Beside the smoke, on kinds with a link or a layout of their own.
const fixture_names& chosen_suites() {
  static const fixture_names names{
      "elections",       // their values and their order are kept elsewhere in another layout
      "forced_end",      // what belongs to another client's session is ended
      "lifetime",        // a lease ends with the session, and the session with its client
      "names",           // any bytes become the name of a node or a lock
      "processes",       // a session ends with its process
      "semaphores",      // kazoo's layout has nodes of its own for them
      "session_stores",  // only sessions refuse a rest
      "waiting",         // places in the queue belong to the session
  };
  return names;
}

/// Those that have been asked for: all that there are, for googletest makes the tests before it runs one.
fixture_names& known_fixtures() {
  static fixture_names names;
  return names;
}

bool everything_runs() {
  const char* wanted = std::getenv("HOLDFAST_TESTS");
  if (wanted == nullptr || *wanted == '\0') return false;
  if (wanted != std::string_view{"all"})
    throw std::invalid_argument{std::string{"HOLDFAST_TESTS="} + wanted + ": expected 'all', or nothing"};
  return true;
}

TEST(contract, has_every_suite_that_the_gate_names) {
  for (const auto* names : {&smoke_suites(), &chosen_suites()}) {
    for (const std::string& name : *names) EXPECT_TRUE(known_fixtures().contains(name)) << name;
  }
}

}  // namespace

bool runs_on(const store_kind& kind, std::string_view fixture) {
  known_fixtures().emplace(fixture);
  if (everything_runs()) return true;
  switch (kind.in_gate) {
    case extent::whole:
    case extent::blocking: return true;
    case extent::chosen: return smoke_suites().contains(fixture) || chosen_suites().contains(fixture);
    case extent::smoke: return smoke_suites().contains(fixture);
  }
  return true;
}

bool runs_async_on(const store_kind& kind) { return kind.in_gate == extent::whole || everything_runs(); }

}  // namespace holdfast::contract
