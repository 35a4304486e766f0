#include "holdfast/counting_semaphore.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast {

std::int64_t counting_semaphore::checked(std::ptrdiff_t capacity) {
  constexpr std::ptrdiff_t largest = 1'000'000'000;
  if (capacity < 1 || capacity > largest) {
    throw error{errc::invalid_argument, "counting_semaphore: the capacity " + std::to_string(capacity) +
                                            " is not between 1 and 1000000000"};
  }
  return capacity;
}

}  // namespace holdfast
