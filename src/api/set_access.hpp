#pragma once

#include <utility>
#include <vector>

#include "api/access.hpp"
#include "holdfast/lease_set.hpp"

namespace holdfast::detail {

/// Makes sets of leases.
class set_access {
 public:
  [[nodiscard]] static lease_set make(std::vector<lease> leases) { return lease_set{std::move(leases)}; }
};

}  // namespace holdfast::detail
