#include "holdfast/counting_semaphore.hpp"

#include <cstddef>
#include <cstdint>

#include "api/claims.hpp"

namespace holdfast {

std::int64_t counting_semaphore::checked(std::ptrdiff_t capacity) {
  return detail::checked_capacity(capacity, "counting_semaphore");
}

}  // namespace holdfast
