#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>

namespace holdfast::test {

/// Names that people, and collations, may take for one another: they differ by case, trailing spaces, accents
/// composed or not, ligatures, widths, and what cannot be seen. As bytes they are never the same.
class similar_names {
 public:
  explicit similar_names(std::uint64_t seed) : random_{seed} {}

  [[nodiscard]] std::pair<std::string, std::string> next();

 private:
  [[nodiscard]] std::size_t below(std::size_t limit) { return random_() % limit; }

  std::mt19937_64 random_;
};

}  // namespace holdfast::test
