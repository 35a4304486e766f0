// SPDX-License-Identifier: Apache-2.0
// contender URL NAME WITNESS mutex|election MILLISECONDS: takes it, visits the witness, gives it up; until it
// was inside three times, and for as long as this at least. Prints how often.

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "support/witness.hpp"
#include <holdfast/holdfast.hpp>

int main(int, char** argv) {
  using namespace std::chrono_literals;
  holdfast::client locks{argv[1]};
  holdfast::mutex stock{locks, argv[2]};
  holdfast::election boss{locks, argv[2]};
  holdfast::test::witness place{argv[3]};
  const bool campaigns = argv[4] == std::string{"election"};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{std::stoi(argv[5])};
  int turns = 0;
  for (; turns < 3 || std::chrono::steady_clock::now() < end; ++turns) {
    if (campaigns) {
      auto term = boss.campaign("C++");
      place.visit(holdfast::mode::exclusive, term.token());
      if (term.resign()) return 1;
    } else {
      auto lease = stock.acquire();
      place.visit(holdfast::mode::exclusive, lease.token());
      if (lease.release()) return 1;
    }
    std::this_thread::sleep_for(5ms);  // work elsewhere: the queue is empty at times
  }
  std::cout << turns << '\n';
}
