// SPDX-License-Identifier: Apache-2.0
#include "holdfast/state.hpp"

namespace holdfast {

std::string_view to_string(mode m) noexcept {
  switch (m) {
    case mode::exclusive: return "exclusive";
    case mode::shared: return "shared";
    case mode::permits: return "permits";
  }
  return "?";
}

}  // namespace holdfast
