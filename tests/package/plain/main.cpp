// SPDX-License-Identifier: Apache-2.0
// A user's first program: the library is linked, a lock is taken, its token grows.
#include <cstdio>
#include <mutex>

#include <holdfast/holdfast.hpp>

int main() {
  holdfast::client locks{"memory:"};
  holdfast::mutex stock{locks, "stock/sku-42"};

  std::uint64_t first = 0;
  {
    std::scoped_lock hold{stock};
    first = stock.token().value();
  }
  std::scoped_lock hold{stock};
  const std::uint64_t second = stock.token().value();

  std::printf("tokens %llu, then %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(second));
  return first < second ? 0 : 1;
}
