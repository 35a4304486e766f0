#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

/// Takes the names of a list from Apache's library. Of a reply that ends too soon the library reports
/// success, with null for each name that was missing.
/// \return nothing if the list is not whole: contenders that are missing in it would not be waited for.
[[nodiscard]] inline std::optional<std::vector<std::string>> listed_names(const char* const* names,
                                                                          int count) {
  if (count < 0 || (count > 0 && names == nullptr)) return std::nullopt;
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    const char* const name = names[static_cast<std::size_t>(i)];
    if (name == nullptr) return std::nullopt;
    all.emplace_back(name);
  }
  return all;
}

}  // namespace holdfast::zookeeper
