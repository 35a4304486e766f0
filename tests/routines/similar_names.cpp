#include "routines/similar_names.hpp"

#include <array>
#include <string_view>

namespace holdfast::test {

namespace {

/// Two spellings of what is the same to some.
using spelling = std::array<std::string_view, 2>;

constexpr auto spellings = std::to_array<spelling>({
    {"a", "A"},
    {"k", "\u212A"},  // the Kelvin sign
    {"i", "\u0130"},  // Turkish
    {"i", "\u0131"},
    {"\u00E9", "e\u0301"},
    {"e", "\u00E9"},
    {"\u00E5", "\u212B"},  // the Angstrom sign
    {"\u00C5", "A\u030A"},
    {"o", "\u00F6"},
    {"oe", "\u00F6"},
    {"\u00DF", "ss"},
    {"\u1E9E", "\u00DF"},
    {"\u03C3", "\u03C2"},  // sigma, in a word and at its end
    {"\uFB01", "fi"},
    {"\u01C6", "d\u017E"},
    {"1", "\uFF11"},
    {"\u00B2", "2"},
    {"\uAC00", "\u1100\u1161"},  // Hangul, composed and not
    {"\u0915\u093C", "\u0958"},
    {"-", "\u2010"},
    {" ", "\u00A0"},
    {"x", "x\u00AD"},  // a soft hyphen
    {"y", "y\u200B"},  // a space of no width
    {"z", "z\u200D"},
    {"q\u0323\u0307", "q\u0307\u0323"},  // marks in another order
    {"/", "/"},
    {"_", "_"},
});

}  // namespace

std::pair<std::string, std::string> similar_names::next() {
  std::string one;
  std::string other;
  const std::size_t length = 1 + below(10);
  for (std::size_t i = 0; i < length; ++i) {
    const spelling& s = spellings.at(below(spellings.size()));
    one += s.at(below(2));
    other += s.at(below(2));
  }
  one.append(below(4) == 0 ? 1 + below(2) : 0, ' ');
  while (one == other) other += ' ';
  return {one, other};
}

}  // namespace holdfast::test
