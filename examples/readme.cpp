// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>

#include "database.hpp"  // stands for yours
#include <holdfast/holdfast.hpp>

int main() {
  using namespace std::chrono_literals;
  database shop{"shop.db"};
  holdfast::client locks{holdfast::default_store()};  // HOLDFAST_STORE, else a file of this user
  holdfast::mutex stock{locks, "stock/sku-42"};

  auto lease = stock.try_acquire_for(2s);  // waits in the queue, for at most 2 s
  if (!lease) {
    std::cerr << "others held the lock for all of that time\n";
    return 1;
  }
  const int rows =
      shop.execute("UPDATE stock SET units = units - 1, fence = :token WHERE sku = 42 AND fence <= :token",
                   lease->token());
  if (rows == 0) std::cerr << "too late: a later holder has written\n";
  if (const auto problem = lease->release()) std::cerr << problem.message() << '\n';
  return rows == 1 ? 0 : 1;
}
