#pragma once

#include <optional>
#include <string>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast wait NAME`: until nobody holds it, without taking it.
struct wait_command {
  store_choice store;
  std::string name;
  std::optional<duration> limit;  ///< empty: as long as it takes; zero: look once
};

int perform(const wait_command& request);

}  // namespace holdfast::cli
